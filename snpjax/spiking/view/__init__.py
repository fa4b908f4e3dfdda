"""What runs and graphs say, with the names of the system."""
