"""The studio, asked without a browser."""
