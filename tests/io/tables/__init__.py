"""What formats refuse, by the name of the format."""

from tests.io.tables import cusnp, esnp, factory_yaml, native, nets, plingua, websnapse, xmp
from tests.io.tables.losses import LOSSES as LOSSES
from tests.io.tables.mistakes import Limit, Mistakes


_MODULES = [cusnp, esnp, factory_yaml, native, nets, plingua, websnapse, xmp]
MISTAKES: dict[str, list[Mistakes]] = {}
LIMITS: dict[str, list[Limit]] = {}
for _module in _MODULES:
    MISTAKES.update(_module.MISTAKES)
    LIMITS.update(_module.LIMITS)
