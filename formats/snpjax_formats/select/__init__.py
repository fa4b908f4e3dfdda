"""Which layout suits a graph. `gathering` times layouts, for what `Learned` is trained on."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..arguments import explain, explain_arguments
from .choose import choose as choose
from .decision import (
    AbstractChooser as AbstractChooser,
    AbstractTimedLayout as AbstractTimedLayout,
    Decision as Decision,
    Question as Question,
)
from .features import Features as Features, features_of as features_of
from .heuristic import (
    StartingTree as StartingTree,
    choose_for as choose_for,
    is_best_joined as is_best_joined,
)
from .published import FixedChooser as FixedChooser, Published as Published
from .workload import Workload as Workload


if TYPE_CHECKING:
    from .including import Including as Including
    from .learned import Learned as Learned
    from .measured import Measured as Measured

# They are imported when they are used: graphs of a few neurons need neither.
_LATER = {"Including": "including", "Learned": "learned", "Measured": "measured"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return explain(import_module(f".{_LATER[name]}", __name__), name)


explain_arguments(__name__)
