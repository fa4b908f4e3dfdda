"""MSN, dense matrices of arcs: places by transitions, and a relation of priority."""

import numpy as np

from ...sleptsov import Arcs, SleptsovNet
from ..losses import Losses
from ..source import MAX_FILE_BYTES, MAX_FINDINGS, Report, Source
from .build_net import build_net
from .columns import Matrices
from .comment_data import Remark, remark
from .flattening import tell_arcs, with_pairs_for_order, without_thresholds
from .numbers import MOST, lines_of
from .priorities import tell_cycles


_INHIBITOR = -1


def read_msn(source: Source) -> SleptsovNet:
    """The net of an MSN file."""
    report = Report(source)
    matrices = Matrices(source, report, ("m", "n"), _parts)
    if not matrices.is_whole:
        report.finish()
    m, n = matrices.sizes
    for name, (low, high, meant) in _MEANT.items():
        numbers = matrices.part(name, _parts(m, n)[name])
        wrong = (numbers < low) | (numbers > high)
        for index in np.flatnonzero(wrong)[:MAX_FINDINGS].tolist():
            message = f"{numbers[index]} in {name}{_place(name, index, n)} ({meant})"
            report.error(matrices.offset(name, index), message)
    given, produced = matrices.part("B", m, n), matrices.part("D", m, n)
    pairs = np.argwhere(matrices.part("R", n, n) == 1)
    tell_cycles(
        pairs,
        n,
        report,
        lambda pair: matrices.offset("R", int(pairs[pair] @ (n, 1))),
        lambda transition: f"t{transition}",
    )
    sizes = {"places": m, "transitions": n}
    said = Remark(source, matrices.end, "#", sizes, 0, report)
    return build_net(
        report,
        marking=matrices.part("the marking", m),
        inputs=_arcs(given, given > 0),
        inhibitors=_arcs(np.abs(given), given == _INHIBITOR),
        outputs=_arcs(produced, produced > 0),
        priorities=pairs,
        num_transitions=n,
        **said.names(),
    )


#: The smallest and the largest number of each part, and what to write.
_MEANT = {
    "B": (_INHIBITOR, MOST, "write 0 or more, or -1 for an inhibitor arc"),
    "D": (0, MOST, "write 0 or more"),
    "R": (0, 1, "write 0, or 1 for a priority"),
    "the marking": (0, MOST, "write 0 or more"),
}


def write_msn(net: SleptsovNet, losses: Losses) -> str:
    """The text of an MSN file.

    **Raises:** `ValueError` when it would be larger than what is read.
    """
    net = with_pairs_for_order(without_thresholds(net, losses), losses)
    m, n = net.num_places, net.num_transitions
    count = 2 * m * n + n * n
    if 2 * count > MAX_FILE_BYTES:
        raise ValueError(
            f"MSN would have {count:,} numbers for {m:,} places and {n:,} transitions. Write LSN, "
            "which has a line for each arc."
        )
    given, produced = np.zeros((m, n), np.int64), np.zeros((m, n), np.int64)
    given[net.inhibitors.place, net.inhibitors.transition] = _INHIBITOR
    both = given[net.inputs.place, net.inputs.transition] != 0
    given[net.inputs.place, net.inputs.transition] = net.inputs.weight
    produced[net.outputs.place, net.outputs.transition] = net.outputs.weight
    if np.any(both):
        place, transition = net.inputs.place[both], net.inputs.transition[both]
        lost = Arcs(place, transition, np.ones_like(place))
        tell_arcs(net, lost, "inhibitor arc beside a regular one", losses)
    beats = np.zeros((n, n), np.int64)
    beats[net.priorities[:, 0], net.priorities[:, 1]] = 1
    tables = [lines_of(table) for table in (given, produced, beats) if table.size]
    head, last = f"{m} {n}\n", lines_of(net.marking[None]) if m else ""
    return "".join([head, *tables, last, remark(net, "#", 0)])


def _parts(m: int, n: int) -> dict[str, int]:
    return {"B": m * n, "D": m * n, "R": n * n, "the marking": m}


def _place(name: str, index: int, n: int) -> str:
    if name == "the marking":
        return f" of p{index}"
    row, column = divmod(index, n)
    return f" of {'t' if name == 'R' else 'p'}{row} and t{column}"


def _arcs(table: np.ndarray, which: np.ndarray) -> Arcs:
    place, transition = np.nonzero(which)
    return Arcs(place, transition, table[place, transition])
