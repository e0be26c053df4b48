"""Workloads: what people do with a release: learn trees from it."""

from pramana.workloads.trees import MinedTree, mine_tree

__all__ = ["MinedTree", "mine_tree"]
