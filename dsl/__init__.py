"""The language, its checker and its compiler."""
