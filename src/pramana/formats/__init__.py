"""Reading and writing of tables: one file a format."""
