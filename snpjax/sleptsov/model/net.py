"""The model: a Sleptsov net as its users think of it, with names."""

import abc
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from jaxtyping import Int

from snpjax_formats.arguments import as_integer
from snpjax_formats.articles import kind_of

from ..._text.counts import plural
from ..._text.model_warning import ModelWarning
from ..._text.nearest import nearest
from ..._text.rule_text import rule_text
from ..._text.warn import warn
from .arcs import Arcs, as_int64
from .names import Names, Numbered, names_of, same_names
from .priority import cycles, priority_order
from .rules import AbstractRule, Sleptsov, check_rule
from .validity import (
    KINDS,
    InvalidNet,
    cycle_problems,
    order_problems,
    priority_problems,
    problems_of,
    warnings_of,
)


if TYPE_CHECKING:
    from ...machine import AbstractEngine, AnyMachine, Lowered, Schema
    from ...trajectory import Save, Trajectory
    from ..lower.enumerable import SearchedNet
    from ..step.state import NetState
    from ..view.configurations import Firings, Markings
    from ..view.solution import NetSolution, NetSolutionBatch
    from .execution import Execution


Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"


class AbstractRunnableNet(abc.ABC):
    """What is run: a net, by itself or together with the rule of its steps."""

    @property
    @abc.abstractmethod
    def _execution(self) -> "Execution":
        """The net and the rule."""

    def lower(
        self,
        *,
        engine: "AbstractEngine | None" = None,
        count_dtype: "np.dtype | type | None" = None,
        faithful: bool = False,
        numbered: bool = False,
        paths: int = 1,
    ) -> "Lowered[NetSolution, NetSolutionBatch]":
        """This net as arrays, see `snpjax.lower`.

        **Raises:** `ValueError` for numbers that do not fit `count_dtype`, or an engine that does
        not know the rule.
        """
        from ..lower.lowered import lowered  # the model itself needs no device

        return lowered(self._execution, engine, count_dtype, faithful, numbered, paths)

    def start(
        self, machine: "AnyMachine", initial: Any, inputs: Any
    ) -> "tuple[AnyMachine, NetState]":
        """Where a run begins: a marking, tokens by place, or the `state` of an earlier solution.

        **Raises:** `ValueError` for what is not a marking of the net.
        """
        from ..lower.lowered import started

        return started(self._execution.net, machine, initial, inputs)

    def default_save(self, paths: int | None) -> "Save":
        """Runs of nets are long: only the final marking."""
        from ...trajectory import SAVE_FINAL

        del paths
        return SAVE_FINAL

    def solution(self, trajectory: "Trajectory") -> "NetSolution":
        """What a run of one path saved, with the names of the net."""
        from ..view.solution import NetSolution

        own = self._execution
        return NetSolution(trajectory, own.net, own.rule)

    def solutions(self, trajectory: "Trajectory") -> "NetSolutionBatch":
        """What a run of many paths saved, with the names of the net."""
        from ..view.solution import NetSolutionBatch

        own = self._execution
        return NetSolutionBatch(trajectory, own.net, own.rule)

    def enumerable(
        self,
        *,
        saturate: Mapping[str, int],
        clock: int,
        at_least: "np.dtype | None" = None,
    ) -> "SearchedNet":
        """This net as arrays, ready for `snpjax.explore`: tokens are counted in 32 bits, and every
        choice among transitions that none of them beats is followed.

        **Raises:** `ValueError` for a rule without choices, an order that does not say where there
        is one, and transitions that may fire without bound.
        """
        from ..lower.lowered import enumerable

        del at_least
        return enumerable(self._execution, saturate=saturate, clock=clock)

    def schema(self) -> "Schema[Markings, Firings]":
        """The names of this net, for graphs and queries."""
        from ..view.schema import schema_of

        return schema_of(self._execution.net)


@dataclass(frozen=True, eq=False)
class SleptsovNet(AbstractRunnableNet):
    """A Sleptsov net N = (P, T, A, R, mu0), places and transitions by 0-based numbers.

    **Arguments:**

    - `marking`: `(places,)` tokens, 0 or more: the initial marking.
    - `inputs`: regular arcs from places to transitions; weights are multiplicities.
    - `outputs`: arcs from transitions to places.
    - `inhibitors`: satisfied where a place holds fewer tokens than the weight; 1 is the plain one.
    - `tests`: satisfied where a place holds at least that many tokens. Neither kind moves tokens.
    - `priorities`: `(pairs, 2)`: the first transition of a pair beats the second, as does whoever
      beats the first.
    - `num_transitions`: by default as many as there are names, else as arcs and priorities need.
    - `place_names`, `transition_names`: p1, p2, ... and t1, t2, ... by default; `Numbered` makes
      others without listing them.
    - `order`: a total order of the transitions, the first to be asked first, for a net that comes
      with one; which transitions it leaves free to choose between is not known then. By default
      `priority_order` is the canonical one.
    - `final_markings`: `(markings, places)` where a computation is meant to end, one or several.
      They change no run; queries know them as `final`.
    - `rule`: of its steps, `Sleptsov()` by default; nets of files have that of their format.
    - `notes`: what a file says besides, in values of JSON. It changes nothing, and is not part of
      what makes nets equal.

    **Raises:** `InvalidNet`, a `ValueError`, with every problem at once.

    ??? cite "Source"
        Zaitsev, Ajima, Bartlett, Kumar 2025. Differs from it in: 1. inhibitor arcs with thresholds
        and test arcs; 2. the order extends the transitive closure of the priorities, of any height.
    """

    marking: Int[np.ndarray, " places"]
    inputs: Arcs
    outputs: Arcs
    inhibitors: Arcs
    tests: Arcs
    priorities: Int[np.ndarray, "pairs 2"]
    num_transitions: int
    place_names: Names
    transition_names: Names
    order: Int[np.ndarray, " transitions"] | None
    final_markings: Int[np.ndarray, "markings places"]
    name: str = ""
    rule: AbstractRule = Sleptsov()  # noqa: RUF009 (a frozen object)
    notes: Mapping[str, Json] = field(default_factory=dict, compare=False)

    def __init__(
        self,
        marking: Sequence[int] | np.ndarray,
        *,
        inputs: Arcs,
        outputs: Arcs,
        inhibitors: Arcs | None = None,
        tests: Arcs | None = None,
        priorities: Iterable[tuple[int, int]] | np.ndarray = (),
        num_transitions: int | None = None,
        place_names: Sequence[str] | None = None,
        transition_names: Sequence[str] | None = None,
        order: Sequence[int] | np.ndarray | None = None,
        final_markings: Sequence[Sequence[int]] | np.ndarray = (),
        name: str = "",
        rule: AbstractRule = Sleptsov(),  # noqa: B008 (a frozen object)
        notes: Mapping[str, Json] | None = None,
    ) -> None:
        check_rule(rule)
        tokens = as_int64("marking", marking)
        if tokens.ndim != 1:
            raise ValueError(
                f"`marking` has {plural(tokens.ndim, 'axis', 'axes')}. Give one number a place."
            )
        arcs = {
            "inputs": inputs,
            "outputs": outputs,
            "inhibitors": Arcs.none() if inhibitors is None else inhibitors,
            "tests": Arcs.none() if tests is None else tests,
        }
        for kind, some in arcs.items():
            if not isinstance(some, Arcs):
                raise TypeError(f"`{kind}` is {kind_of(some)}. Write Arcs.of([...]).")
        pairs = as_int64("priorities", priorities).reshape(-1, 2)
        if num_transitions is None:
            if transition_names is not None:
                num_transitions = len(transition_names)
            else:
                named = [pairs.max(initial=-1)]
                named += [some.transition.max(initial=-1) for some in arcs.values()]
                num_transitions = int(max(named)) + 1
        num_transitions = as_integer("num_transitions", num_transitions)
        if num_transitions < 0:
            raise ValueError(f"`num_transitions` is {num_transitions}. Give 0 or more.")
        final = [as_int64("final_markings", row) for row in final_markings]
        for number, row in enumerate(final):
            if row.shape != tokens.shape:
                raise ValueError(
                    f"`final_markings` number {number} has {plural(row.size, 'number')}. "
                    f"Give one for each of the {plural(len(tokens), 'place')}."
                )
        given_order = None if order is None else as_int64("order", order)
        for attribute, value in {
            "marking": tokens,
            **arcs,
            "priorities": np.unique(pairs, axis=0) if len(pairs) else pairs,
            "num_transitions": num_transitions,
            "place_names": names_of(place_names, "p", len(tokens)),
            "transition_names": names_of(transition_names, "t", num_transitions),
            "order": given_order,
            "final_markings": np.reshape(final, (len(final), len(tokens))).astype(np.int64),
            "name": name,
            "rule": rule,
            "notes": MappingProxyType(dict(notes or {})),
        }.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, attribute, value)
        self._check()
        for text in warnings_of(self):
            warn(ModelWarning(text))

    def _check(self) -> None:
        problems = list(problems_of(self))
        wrong = list(priority_problems(self))
        problems += wrong
        if not wrong and self._canonical is None:
            problems += cycle_problems(self, cycles(self.priorities, self.num_transitions))
        elif not wrong and self.order is not None:
            problems += order_problems(self, self.order)
        if problems:
            raise InvalidNet(problems)

    @property
    def num_places(self) -> int:
        return len(self.marking)

    @cached_property
    def _canonical(self) -> Int[np.ndarray, " transitions"] | None:
        return priority_order(self.priorities, self.num_transitions)

    @property
    def priority_order(self) -> Int[np.ndarray, " transitions"]:
        """The transitions in the order in which they are asked."""
        order = self._canonical if self.order is None else self.order
        assert order is not None
        return order

    def place_name(self, place: int) -> str:
        """The name of a place, or its number where it has none."""
        return _name(self.place_names, place)

    def transition_name(self, transition: int) -> str:
        """The name of a transition, or its number where it has none."""
        return _name(self.transition_names, transition)

    def place(self, name: str) -> int:
        """The number of a place.

        **Raises:** `ValueError` for a name that the net does not have.
        """
        return _found(self.place_names, self._places, "place", name)

    def transition(self, name: str) -> int:
        """The number of a transition.

        **Raises:** `ValueError` for a name that the net does not have.
        """
        return _found(self.transition_names, self._transitions, "transition", name)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.place_names)}

    @cached_property
    def _transitions(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.transition_names)}

    @property
    def _execution(self) -> "Execution":
        from .execution import Execution  # which holds a net

        return Execution(self)

    def replace(self, **changes: Any) -> "SleptsovNet":
        """The same net but for some arguments of its construction; its warnings were said
        before."""
        return _rebuild({**self._arguments(), **changes})

    def with_rule(self, rule: AbstractRule) -> "SleptsovNet":
        """This net with another rule of its steps; arrays are shared.

        **Raises:** `TypeError` for what is not a rule.
        """
        check_rule(rule)
        if rule.name == self.rule.name:
            return self
        net = object.__new__(SleptsovNet)  # unlike `replace`, checks nothing that was checked
        vars(net).update({**vars(self), "rule": rule})
        return net

    def _arguments(self) -> dict[str, Any]:
        arguments = {field.name: getattr(self, field.name) for field in fields(self)}
        return arguments | {"notes": dict(self.notes)}  # a read-only view cannot be pickled

    def __reduce__(self):
        return _rebuild, (self._arguments(),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SleptsovNet):
            return NotImplemented
        arrays = ("marking", "priorities", "priority_order", "final_markings")
        return (
            (self.name, self.rule.name) == (other.name, other.rule.name)
            and (self.order is None) == (other.order is None)
            and all(np.array_equal(getattr(self, a), getattr(other, a)) for a in arrays)
            and all(getattr(self, kind) == getattr(other, kind) for kind in KINDS)
            and same_names(self.place_names, other.place_names)
            and same_names(self.transition_names, other.transition_names)
        )

    def __hash__(self) -> int:
        return hash((self.marking.tobytes(), self.inputs, self.outputs))

    def __repr__(self) -> str:
        arcs = sum(len(getattr(self, kind)) for kind in KINDS)
        return (
            f"SleptsovNet({self.name + ': ' if self.name else ''}"
            f"{plural(self.num_places, 'place')}, {plural(self.num_transitions, 'transition')}, "
            f"{plural(arcs, 'arc')}, {plural(len(self.priorities), 'priority', 'priorities')}, "
            f"{rule_text(self.rule.name)})"
        )

    def __str__(self) -> str:
        from .notation import text_of_net  # which builds nets

        return text_of_net(self)

    def _repr_html_(self) -> str:
        from ..view.picture import net_html

        return net_html(self)

    def _repr_svg_(self) -> str | None:
        from ..view.picture import net_svg

        return net_svg(self)


def _rebuild(arguments: dict[str, Any]) -> SleptsovNet:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # said when it was first built
        return SleptsovNet(**arguments)


def _name(names: Names, number: int) -> str:
    return names[number] if 0 <= number < len(names) else f"number {number}"


def _found(names: Names, numbers: Mapping[str, int], what: str, name: str) -> int:
    number = names.find(name) if isinstance(names, Numbered) else numbers.get(name)
    if number is None:
        raise ValueError(f"The net has no {what} {name!r} ({nearest(name, names, f'{what}s')}).")
    return number
