"""Which layout suits a graph."""

from .features import Features as Features, features_of as features_of
from .heuristic import (
    Decision as Decision,
    choose as choose,
    choose_for as choose_for,
    is_best_joined as is_best_joined,
)
