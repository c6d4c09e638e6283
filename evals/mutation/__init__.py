"""Mutants of right kernels."""
