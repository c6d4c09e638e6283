"""Technique cards, one Markdown file each."""
