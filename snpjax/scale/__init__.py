"""Many devices and many hosts, by the distributed runtime of JAX."""
