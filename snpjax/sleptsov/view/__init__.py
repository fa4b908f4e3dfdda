"""What runs and graphs of nets say, with the names of the net."""
