"""The step: nets as arrays, and the engines that fire transitions."""
