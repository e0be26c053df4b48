"""Disclosure risk of tables and releases, attacks, and utility measures."""
