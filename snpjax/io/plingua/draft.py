"""What running a P-Lingua file gives: a system by labels, still without names and checks."""

from dataclasses import dataclass, field
from typing import TypeAlias

from ...spiking.model.rule import AnyRule
from ...spiking.model.system import Json
from . import tree


#: A rule of the file; a literal one by its offset, for there may be a million of them.
RuleNode: TypeAlias = tree.SpikingRule | tree.GrowthRule | int


@dataclass(slots=True)
class SystemDraft:
    """A system as the statements tell it, by labels, each item with the piece of the file it comes
    from.

    `are_labels_known` is false when a mistake may have kept neurons from being created: names that
    no neuron has are no errors of their own then.
    """

    neurons: list[tuple[str, int]] = field(default_factory=list)
    contents: dict[str, tuple[int, int]] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    arcs: list[tree.Arc | int] = field(default_factory=list)
    dictionary: list[tuple[str, str]] = field(default_factory=list)
    outputs: dict[str, int] = field(default_factory=dict)
    input: tuple[str, int] | None = None
    train: dict[int, int] = field(default_factory=dict)
    train_offset: int = 0
    rules: dict[str, list[AnyRule]] = field(default_factory=dict)
    rule_nodes: dict[str, list[RuleNode]] = field(default_factory=dict)
    without_guard: set[tuple[str, int]] = field(default_factory=set)
    hints: list[dict[str, Json]] = field(default_factory=list)
    are_labels_known: bool = True
