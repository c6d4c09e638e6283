"""The only reader of kernel text."""
