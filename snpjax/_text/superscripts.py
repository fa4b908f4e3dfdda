"""The superscripts of Unicode that rules and configurations are shown with."""

#: Each plain character and its superscript.
SUPERSCRIPTS = dict(zip("0123456789+-()inago", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁱⁿᵃᵍᵒ", strict=True))
