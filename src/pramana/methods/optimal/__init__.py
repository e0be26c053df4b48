"""Optimal PRAM under spontaneous recognition [Cator]."""
