"""Workloads: what people do with a release: learn trees from it."""
