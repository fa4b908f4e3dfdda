"""Certificates of proofs by induction, and the checker that accepts or rejects them."""
