"""The engine for tables that outgrow one machine."""
