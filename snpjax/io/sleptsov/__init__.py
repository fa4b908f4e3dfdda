"""Files of Sleptsov nets."""
