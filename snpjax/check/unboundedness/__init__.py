"""Proofs that a system grows without bound."""
