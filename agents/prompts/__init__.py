"""Seed prompts, loaded and hashed."""
