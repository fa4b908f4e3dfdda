"""P-Lingua 4, the model language `spiking_psystems`."""

from .read import read_plingua as read_plingua
from .write import write_plingua as write_plingua
