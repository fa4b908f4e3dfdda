"""Markov chains, decision processes and estimates."""
