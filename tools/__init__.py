"""What an agent may do, as typed functions."""
