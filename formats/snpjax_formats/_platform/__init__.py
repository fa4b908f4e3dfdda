"""Files, memory and caches of the operating system."""
