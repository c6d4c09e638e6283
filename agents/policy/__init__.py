"""Pure functions of the offline policy."""
