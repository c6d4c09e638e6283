"""Facts of the targets: constants and tables, no logic."""
