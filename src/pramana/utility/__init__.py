"""What is lost: distances between tables, associations, predictions, conclusions."""
