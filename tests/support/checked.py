"""The checker of types at run time: as PEP 484 has it, an int is a float."""

from beartype import BeartypeConf, beartype


checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
