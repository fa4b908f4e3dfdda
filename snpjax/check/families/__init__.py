"""Families of systems: properties for some sizes, and for all."""
