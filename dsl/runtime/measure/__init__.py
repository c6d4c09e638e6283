"""Honest timing of compiled GEMM kernels; travels inside a bundle to a machine that has nothing of this project.

Needs Python, the CUDA driver and PyTorch. Modules import one another relatively, since in a bundle this folder is a
package of its own.
"""
