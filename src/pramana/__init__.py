"""Pramana: publish tables about people by post-randomisation."""
