"""Reports: documents, charts, HTML and PDF. Nothing is computed here."""
