"""Evaluation suites and their reports."""
