"""Transition matrices, mechanisms, attribute sampling, and the exact sampler."""
