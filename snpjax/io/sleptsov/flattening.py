"""What several formats cannot hold of a net: thresholds, test arcs, an order without priorities."""

import numpy as np

from ...sleptsov import Arcs, SleptsovNet
from ..losses import Losses


_MAX_LISTED = 50


def without_thresholds(net: SleptsovNet, losses: Losses) -> SleptsovNet:
    """The net with plain inhibitor arcs only: those with thresholds and test arcs are losses."""
    has_threshold = net.inhibitors.weight != 1
    if np.any(has_threshold):
        tell_arcs(net, _chosen(net.inhibitors, has_threshold), "inhibitor arc", losses)
    if len(net.tests):
        tell_arcs(net, net.tests, "test arc", losses)
    if not np.any(has_threshold) and not len(net.tests):
        return net
    return net.replace(inhibitors=_chosen(net.inhibitors, ~has_threshold), tests=Arcs.none())


def tell_arcs(net: SleptsovNet, arcs: Arcs, what: str, losses: Losses) -> None:
    """A loss for each arc, with its threshold."""
    for place, transition, weight in arcs.triples()[:_MAX_LISTED]:
        ends = f"from {net.place_name(place)} to {net.transition_name(transition)}"
        losses.add(f"the {what} {ends} with the threshold {weight}", "left out")
    if len(arcs) > _MAX_LISTED:
        losses.add(f"{len(arcs) - _MAX_LISTED:,} more {what}s with thresholds", "left out")


def with_pairs_for_order(net: SleptsovNet, losses: Losses) -> SleptsovNet:
    """The net with priorities in place of a given order, which is a loss: of the net it is not
    known which transitions are comparable, and now all are."""
    if net.order is None:
        return net
    losses.add(
        "a total order of the transitions without the priorities it came from",
        "written as priorities of each over the next",
    )
    chain = np.stack([net.order[:-1], net.order[1:]], axis=1)
    return net.replace(priorities=chain, order=None)


def _chosen(arcs: Arcs, which: np.ndarray) -> Arcs:
    return Arcs(arcs.place[which], arcs.transition[which], arcs.weight[which])
