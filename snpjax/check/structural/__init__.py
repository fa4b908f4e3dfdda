"""What follows from the transition matrix alone."""
