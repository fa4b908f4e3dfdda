"""Traced programs evaluated with NumPy: short work that need not wait for the compiler.

`Interpreted` evaluates any jaxpr whose primitives are in its tables (`elementwise`, `indexing`,
`control`) and refuses others when it is made. Integers and bits are exact, so that the results are
those of the compiled program.
"""

from .jaxpr import Interpreted as Interpreted
from .rule import (
    NotInterpretable as NotInterpretable,
    as_numpy as as_numpy,
    words_of_key as words_of_key,
)
