"""k-anonymity: groups of at least k records, and new keys that keep the distribution."""
