"""From a model to arrays."""
