"""Networks as graphs of the Neuromorphic Intermediate Representation (NIR), and back."""

from .network import NirNetwork as NirNetwork
from .read import from_nir as from_nir
from .write import to_nir as to_nir
