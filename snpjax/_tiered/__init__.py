"""Programs that answer before they are compiled: see `tiered`.

The first calls of a program are evaluated with NumPy, by an interpreter of traced programs
(`Interpreted`, whose tables are `elementwise`, `indexing` and `control`). Integers and bits are
exact, so that the results are those of the compiled program; what no table has is compiled.
"""

from .interpreter import Interpreted as Interpreted
from .programs import Tiered as Tiered, tiered as tiered
from .rule import NotInterpretable as NotInterpretable
