"""From a net to arrays."""
