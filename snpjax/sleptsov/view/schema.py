"""The names of nets for graphs, queries, witnesses, exports and pictures."""

from functools import partial

import numpy as np

from ..._text.lines import EdgeLabels, Table
from ..._text.nearest import nearest
from ..._text.pickling import pickled_as_call
from ...schema import Action, Schema
from ..model.net import SleptsovNet
from .configurations import Firings, Markings, firings_of, markings_of, visited


@pickled_as_call
def schema_of(net: SleptsovNet) -> Schema[Markings, Firings]:
    """Columns are places, and one transition fires in a step."""

    def actions(steps: Firings, labels: EdgeLabels) -> list[Action]:
        """Nothing leaves a net: the transition stands at an edge in any case."""
        del labels
        present = np.ones(len(steps), bool)
        name_of = net.transition_name
        return [Action(present, steps.transition, name_of, times=steps.multiplicity)]

    def step_tables(steps: Firings) -> dict[str, Table]:
        return {
            "transition": Table("transition", steps.transition),
            "multiplicity": Table("multiplicity", steps.multiplicity),
        }

    def firings_json(steps: Firings) -> list[list[str | int]]:
        pairs = zip(steps.names, steps.multiplicity.tolist(), strict=True)
        return [[name, copies] for name, copies in pairs]

    def problem_of(function: str, name: str, number: int) -> str | None:
        del number
        if function == "final":
            missing = "the net has no final markings (give it `final_markings`, or name the places)"
            return None if len(net.final_markings) else missing
        if name in net.place_names:
            return None
        return f"there is no {name!r} ({nearest(name, net.place_names, 'names')})"

    return Schema(
        title=net.name,
        rule=net.rule.name,
        counted="tokens",
        column_kind="places",
        columns=net.place_names,
        configurations=partial(markings_of, net),
        steps=partial(firings_of, net),
        tables=lambda some: {"marking": Table("tokens", some.marking)},
        step_tables=step_tables,
        actions=actions,
        action_names=net.transition_names,
        alternatives=net.transition_names,
        selected=lambda steps: {
            net.transition_name(t) for t in np.unique(steps.transition).tolist()
        },
        words=lambda steps, number: [steps.text(number)],
        num_choosers=1,
        lists={"transitions": net.transition_names},
        step_json=("firings", firings_json),
        quantities={"final": lambda some, _: some.is_final},
        problem_of=problem_of,
        visited=visited,
    )
