"""The step: a system as arrays, and the pure functions that run it."""
