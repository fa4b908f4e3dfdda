"""The model: systems of neurons and of populations, and what is wrong with them."""
