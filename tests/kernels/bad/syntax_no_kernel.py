# expect: syntax 1
"""Nothing here."""
