"""The published folder: certificate, data, signature, codebook, README."""
