"""Graph nodes, one file each."""
