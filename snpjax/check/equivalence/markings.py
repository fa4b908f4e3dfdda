"""The same markings: two nets reach the same set."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from ...explore import Graph
from .comparison import AbstractComparison, Pair
from .nets import net_of, net_run
from .result import SIDES, Agreement, Difference, Equivalence


@dataclass(frozen=True)
class SameMarkings(AbstractComparison):
    """The same reachable markings of two nets. Places are matched by name.

    **Arguments:**

    - `places`: compare the tokens of these places only. By default of all, of which both nets must
      have the same.
    - `halting`: compare only markings in which nothing can fire: what the nets compute.

    Of a graph that is not complete, a marking counts as missing only if no open configuration
    can lead to it.

    ```python
    snp.equivalent(net, smaller, by=SameMarkings(places=["sum"], halting=True))
    ```

    ??? cite "Source"
        Murata 1989, section IV: the reachability set.
    """

    places: Sequence[str] | None = None
    halting: bool = False

    @property
    def environment(self) -> None:
        return None

    @property
    def depth(self) -> int | None:
        return None

    def compare(self, pair: Pair) -> Equivalence:
        if pair.noun != "net":
            raise NotImplementedError(
                "Systems of neurons have no markings. Compare them by SameTraces(), SameNumbers() "
                "or Bisimilar()."
            )
        names = self._names(pair)
        tables = [_tokens(graph, names) for graph in pair.graphs]
        seen = [
            np.flatnonzero(graph.is_halting) if self.halting else np.arange(len(table))
            for graph, table in zip(pair.graphs, tables, strict=True)
        ]
        sets = [{tuple(row) for row in t[s].tolist()} for t, s in zip(tables, seen, strict=True)]
        for side in (0, 1):
            missing = sets[side] - sets[1 - side]
            if missing and pair.graphs[1 - side].is_complete:
                number = next(x for x in seen[side] if tuple(tables[side][x].tolist()) in missing)
                return self._different(pair, side, int(number), names, tables[side][number])
        what = "halting markings" if self.halting else "markings"
        if all(graph.is_complete for graph in pair.graphs):
            reason = f"both reach the same {len(sets[0]):,} {what}"
            return Equivalence(self, Agreement.EQUAL, reason)
        depth = min(graph.whole_depth for graph in pair.graphs if not graph.is_complete)
        near = [
            {tuple(row) for row in table[own[graph.depths[own] <= depth]].tolist()}
            for graph, table, own in zip(pair.graphs, tables, seen, strict=True)
        ]
        if depth == 0 or near[0] != near[1]:
            return Equivalence(self, Agreement.UNKNOWN, pair.cut)
        reason = f"within {depth} steps they reach the same {len(near[0]):,} {what}; {pair.cut}"
        return Equivalence(self, Agreement.EQUAL_UP_TO, reason)

    def _names(self, pair: Pair) -> list[str]:
        """The places to compare. **Raises:** `ValueError` for places that one net does not have."""
        own = [list(net_of(graph).place_names) for graph in pair.graphs]
        names = list(dict.fromkeys(own[0] + own[1] if self.places is None else self.places))
        for which, some in zip(SIDES, own, strict=True):
            if missing := [name for name in names if name not in some]:
                raise ValueError(
                    f"The {which} net has no place {', '.join(map(repr, missing[:5]))}. Name the "
                    "places that both have: SameMarkings(places=[...])."
                )
        return names

    def _different(
        self,
        pair: Pair,
        side: int,
        number: int,
        names: Sequence[str],
        tokens: Int[np.ndarray, " places"],
    ) -> Equivalence:
        shown = net_run(pair.graphs[side], pair.graphs[side].edges_to(number), pair.systems[side])
        held = zip(names, tokens.tolist(), strict=True)
        text = ", ".join(f"{name} = {count}" for name, count in held if count) or "no tokens"
        what = "halts with" if self.halting else "reaches"
        statement = f"The {SIDES[side]} net {what} {text}, the {SIDES[1 - side]} never does."
        runs = (shown, None) if side == 0 else (None, shown)
        difference = Difference(statement, side, runs, "net")
        return Equivalence(self, Agreement.DIFFERENT, "one reaches another marking", difference)

    def __str__(self) -> str:
        what = "halting markings" if self.halting else "reachable markings"
        return what if self.places is None else f"{what} of {', '.join(self.places)}"


def _tokens(graph: Graph[Any, Any], names: Sequence[str]) -> Int[np.ndarray, "markings places"]:
    places = [net_of(graph).place(name) for name in names]
    return graph.map(lambda some: some.marking[:, places].astype(np.int64))
