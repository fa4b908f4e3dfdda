"""Proofs by induction on the transition relation, where the graph is infinite or too large."""
