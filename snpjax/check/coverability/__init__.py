"""Which counts can grow without bound: Karp-Miller trees."""
