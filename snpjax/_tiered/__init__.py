"""Programs that answer before they are compiled: see `tiered`.

The first calls of a program are evaluated with NumPy, by an interpreter of traced programs
(`Interpreted`, whose tables are `elementwise`, `indexing` and `control`). It computes with integers
and bits, so that results are those of the compiled program; a program with any other primitive, or
with arithmetic of floats that is not marked by `estimate`, is compiled.
"""

from .estimate import estimate as estimate, estimated_sum as estimated_sum
from .interpreter import Interpreted as Interpreted
from .programs import Tiered as Tiered, tiered as tiered
from .rule import NotInterpretable as NotInterpretable
