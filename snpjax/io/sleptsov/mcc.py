"""SN-MCC, "matrix with condensed columns": slot by slot, the inputs and outputs of every
transition, transitions in the order of their priority.

The tables are as wide as the transitions and as high as the largest of them, so that most slots of
a large net are empty. They are read and written as text only: the net keeps its arcs.
"""

import re
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from ...sleptsov import Arcs, SleptsovNet
from ...sleptsov.model.priority import priority_order
from ..losses import Losses
from ..source import MAX_FILE_BYTES, MAX_FINDINGS, Report, Source
from .build_net import build_net
from .columns import Matrices
from .comment_data import Remark, remark
from .flattening import without_thresholds
from .numbers import Words, as_bytes, lines_of


_TRAILER = "# permutation of transitions:"
_PERMUTATION = re.compile(rf"^{re.escape(_TRAILER)}[ \t]*\n?([^#]*)", re.MULTILINE)
_INHIBITOR = -1


def read_mcc(source: Source) -> SleptsovNet:
    """The net of an SN-MCC file.

    Its columns are a total order of the transitions: that is kept, the priorities behind it are
    not in the file, unless `write_mcc` noted them. Where the file says which transition a column
    was, transitions have these numbers; else column j is transition j.
    """
    report = Report(source)
    matrices = Matrices(source, report, ("m", "n", "mm"), _parts)
    if not matrices.is_whole:
        report.finish()
    m, n, height = matrices.sizes
    tables = _Tables(matrices, report)
    regular, inhibitors = tables.take("B", ((0, "inputs"), (_INHIBITOR, "inhibitors")))
    (outputs,) = tables.take("D", ((0, "outputs"),))
    marking = matrices.part("the marking", m)
    for place in np.flatnonzero(marking < 0)[:MAX_FINDINGS].tolist():
        message = f"place {place} holds {marking[place]} tokens (write 0 or more)"
        report.error(matrices.offset("the marking", place), message)
    order = _order(source, matrices.end, n, report)
    said = Remark(source, matrices.end, "#", {"places": m, "transitions": n}, 0, report)
    known = _priorities(said, order, n)
    return build_net(
        report,
        marking=marking,
        inputs=_with_transitions(regular, order),
        inhibitors=_with_transitions(inhibitors, order),
        outputs=_with_transitions(outputs, order),
        num_transitions=n,
        **known,
        **said.names(),
    )


def write_mcc(net: SleptsovNet, losses: Losses) -> str:
    """The text of an SN-MCC file, columns in order of priority; a comment keeps the priorities.

    **Raises:** `ValueError` when it would be larger than what is read.
    """
    net = without_thresholds(net, losses)
    n = net.num_transitions
    inputs = [net.inputs, net.inhibitors]
    num_inputs = sum(np.bincount(arcs.transition, minlength=n) for arcs in inputs)
    num_outputs = np.bincount(net.outputs.transition, minlength=n)
    height = int(max(np.max(num_inputs, initial=0), np.max(num_outputs, initial=0)))
    num_slots = 4 * height * n
    if 2 * num_slots > MAX_FILE_BYTES:
        raise ValueError(
            f"SN-MCC would have {num_slots:,} numbers for {n:,} transitions, because one of them "
            f"has {height} arcs. Write LSN, which has a line for each arc."
        )
    column = np.empty(n, np.int64)
    column[net.priority_order] = np.arange(n)
    rows = [f"{net.num_places} {n} {height}\n"]
    for kinds in ([(net.inputs, 1), (net.inhibitors, _INHIBITOR)], [(net.outputs, 1)]):
        place = np.concatenate([arcs.place for arcs, _ in kinds])
        at = np.concatenate([column[arcs.transition] for arcs, _ in kinds])
        value = np.concatenate([arcs.weight * sign for arcs, sign in kinds])
        rows += _table_text(place, at, value, height, n)
    rows.append(lines_of(net.marking[None]))
    if not np.array_equal(net.priority_order, np.arange(n)):
        rows += [f"{_TRAILER}\n", lines_of(net.priority_order[None])]
    more: dict[str, Any] = {}
    if net.order is None or len(net.priorities):
        more["priorities"] = net.priorities.tolist()
    if net.order is not None and more:
        more["is_ordered"] = True
    return "".join([*rows, remark(net, "#", 0, **more)])


def _parts(m: int, n: int, height: int) -> dict[str, int]:
    slots = height * n
    tables = {f"{table}-{what}": slots for table in "BD" for what in ("index", "value")}
    return {**tables, "the marking": m}


def _table_text(
    place: np.ndarray, column: np.ndarray, value: np.ndarray, height: int, width: int
) -> list[str]:
    """The rows of an index table and of the value table that goes with it."""
    order = np.argsort(column, kind="stable")  # regular arcs stay before inhibitors
    column, place, value = column[order], place[order], value[order]
    starts = np.concatenate(
        [np.zeros(1, np.int64), np.cumsum(np.bincount(column, minlength=width))]
    )
    rows = []
    for numbers in (place, value):
        for row in range(height):  # one at a time: the table may be a thousand times the arcs
            at = starts[:-1] + row
            is_used = at < starts[1:]
            line = np.zeros(width, np.int64)
            line[is_used] = numbers[at[is_used]]
            rows.append(lines_of(line[None]))
    return rows


class _Tables:
    """The slots of the tables that are used, as arcs."""

    def __init__(self, matrices: Matrices, report: Report):
        self.matrices, self.report = matrices, report
        self.m, self.n, self.height = matrices.sizes

    def take(self, table: str, kinds: tuple[tuple[int, str], ...]) -> list[Arcs]:
        """The arcs of a table: for each kind those with positive values, or with that value."""
        index = self.matrices.part(f"{table}-index", self.height * self.n)
        value = self.matrices.part(f"{table}-value", self.height * self.n)
        used = np.flatnonzero(value)
        place, weight = index[used], value[used]
        least = _INHIBITOR if table == "B" else 1
        known = (weight > 0) | (weight == least)
        for slot in used[~known][:MAX_FINDINGS].tolist():
            what = "write -1 for an inhibitor arc" if table == "B" else "only inputs inhibit"
            message = f"{table}-value {value[slot]} of column {slot % self.n} (write 0 or more"
            message += f", or {what})" if table == "B" else f"; {what})"
            self.report.error(self.matrices.offset(f"{table}-value", slot), message)
        inside = (place >= 0) & (place < self.m)
        for slot in used[~inside][:MAX_FINDINGS].tolist():
            message = (
                f"place {index[slot]} in column {slot % self.n} of {table}-index is out of range "
                f"(there are {self.m}, numbered from 0)"
            )
            self.report.error(self.matrices.offset(f"{table}-index", slot), message)
        good = known & inside
        found = []
        for kind, what in kinds:
            chosen = good & (weight > 0 if kind == 0 else weight == kind)
            slots = used[chosen]
            again = self._tell_duplicates(table, slots, place[chosen], what)
            slots, places = slots[~again], place[chosen][~again]
            found.append(Arcs(places, slots % max(self.n, 1), np.abs(weight[chosen][~again])))
        return found

    def _tell_duplicates(
        self, table: str, slots: Int[np.ndarray, " arcs"], places: np.ndarray, what: str
    ) -> Bool[np.ndarray, " arcs"]:
        columns = slots % max(self.n, 1)
        order = np.lexsort((places, columns))  # stable: of two slots the first is first
        same = (np.diff(columns[order]) == 0) & (np.diff(places[order]) == 0)
        again = np.zeros(len(slots), bool)
        again[order[1:][same]] = True
        for arc in np.flatnonzero(again)[:MAX_FINDINGS].tolist():
            message = (
                f"duplicate: place {places[arc]} is twice among the {what} of column "
                f"{columns[arc]} (add the multiplicities up)"
            )
            self.report.error(self.matrices.offset(f"{table}-index", int(slots[arc])), message)
        return again


def _with_transitions(arcs: Arcs, order: Int[np.ndarray, " columns"]) -> Arcs:
    """Arcs by columns as arcs by transitions."""
    return Arcs(arcs.place, order[arcs.transition], arcs.weight)


def _priorities(
    said: Remark, order: Int[np.ndarray, " columns"], num_transitions: int
) -> dict[str, Any]:
    """The priorities that are noted, and the order unless it is the one that follows from them."""
    pairs = said.pairs()
    if pairs is None:
        return {"order": order}
    table = np.array(pairs, np.int64).reshape(-1, 2)
    canonical = priority_order(table, num_transitions)
    position = np.empty(num_transitions, np.int64)
    position[order] = np.arange(num_transitions)
    if canonical is None or np.any(np.diff(position[table]) <= 0):
        said.error("the columns are not in an order of the `priorities`")
        return {}
    is_given = said.told.get("is_ordered") is True or not np.array_equal(order, canonical)
    return {"priorities": table, "order": order if is_given else None}


def _order(
    source: Source, start: int, num_transitions: int, report: Report
) -> Int[np.ndarray, " columns"]:
    """The transition of each column, according to the trailer."""
    in_order = np.arange(num_transitions)
    match = _PERMUTATION.search(source.text, start)
    if match is None:
        return in_order
    words = Words(source, as_bytes(match[1]), match.start(1), num_transitions)
    numbers = words.values
    if words.wrong or not np.array_equal(np.sort(numbers), in_order):
        message = (
            f"the permutation of transitions does not list each of 0 to {num_transitions - 1} once "
            "(correct it, or remove the line)"
        )
        report.error(match.start(), message)
        return in_order
    return numbers
