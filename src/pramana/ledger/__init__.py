"""What was promised about which table, release after release: a book that the steward keeps."""
