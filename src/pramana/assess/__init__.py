"""Whole assessments: what an audit, an attack, a comparison or a report puts together."""
