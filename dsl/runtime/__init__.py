"""Compiled kernels on a GPU: launched through the driver, without the compiler."""
