"""Groups of at least k records, and draws that keep the distribution inside them [Wei]."""
