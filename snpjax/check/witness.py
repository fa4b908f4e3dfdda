"""A computation that shows something: step by step in words, as plain values, and as a run."""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, Protocol

import numpy as np
from jaxtyping import Bool, Int

from .._text.counts import plural
from .._text.lines import Table, distinct_names
from .._text.pickling import PickledWithoutCache
from ..choice import NO_RULE, GivenChoices
from ..explore.successors import NO_EDGE
from ..explore.text import count_table, label_table
from ..machine import ConfigurationsT, Explorable, Link, LoweringOptions, Model, Schema, StepsT
from ..run import run
from ..trajectory import Save


class Visited(Protocol[ConfigurationsT, StepsT]):
    """What has configurations and steps by numbers: a graph, or one computation."""

    @property
    def system(self) -> Explorable[ConfigurationsT, StepsT]: ...

    @property
    def lowering(self) -> LoweringOptions: ...

    @property
    def saturate(self) -> Mapping[str, int]: ...

    def configurations(self, numbers: Any, /) -> ConfigurationsT: ...

    def transitions_to(self, edges: Any, targets: Any, /) -> StepsT: ...


class Witness(PickledWithoutCache, Generic[ConfigurationsT, StepsT]):
    """Configurations of a graph one after the other, and the steps between them: those of `edges`,
    of which the last ones may be `NO_EDGE`, where it has halted."""

    def __init__(
        self,
        graph: Visited[ConfigurationsT, StepsT],
        witness: tuple[int, ...],
        edges: tuple[int, ...],
        choices: GivenChoices,
    ):
        self.graph, self.choices = graph, choices
        self.path, self.edges = np.asarray(witness, np.int64), np.asarray(edges, np.int64)

    def __repr__(self) -> str:
        return f"Witness({plural(max(len(self.path) - 1, 0), 'step')})"

    @cached_property
    def schema(self) -> Schema[ConfigurationsT, StepsT]:
        """The names of the model."""
        return self.graph.system.schema()

    @cached_property
    def configurations(self) -> ConfigurationsT:
        return self.graph.configurations(self.path)

    @cached_property
    def steps(self) -> StepsT:
        """The steps that are made."""
        is_made = self.edges != NO_EDGE
        return self.graph.transitions_to(self.edges[is_made], self.path[1:][is_made])

    @cached_property
    def _labels(self) -> np.ndarray | None:
        """The names of slots in every configuration, where columns are slots."""
        if self.schema.columns is not None:
            return None
        return label_table(self.schema, self.configurations)

    @cached_property
    def num_columns(self) -> int:
        """The columns of all configurations, or the slots in use in the end."""
        if self._labels is None:
            return count_table(self.schema, self.configurations).values.shape[1]
        return int(np.sum(self._labels != "", axis=1).max(initial=0))

    @cached_property
    def _tables(self) -> dict[str, Table]:
        found = self.schema.tables(self.configurations)
        return {name: table.cut(self.num_columns) for name, table in found.items()}

    @property
    def num_choosers(self) -> int:
        chosen = self.schema.num_choosers
        return self.num_columns if chosen is None else chosen

    @property
    def counts(self) -> Int[np.ndarray, "configurations columns"]:
        table = count_table(self.schema, self.configurations)
        return table.values[:, : self.num_columns]

    @property
    def selected(self) -> Int[np.ndarray, "steps choosers"]:
        """The alternative that each chooser selects in every step, or `NO_RULE`."""
        return np.asarray(self.choices.rules)[: max(len(self.path) - 1, 0), : self.num_choosers]

    @cached_property
    def _is_cut(self) -> Bool[np.ndarray, "configurations columns"]:
        if self.schema.is_cut is None:
            return np.zeros(self.counts.shape, bool)
        is_cut = self.schema.is_cut(self.configurations, self.graph.saturate)
        return is_cut[:, : self.num_columns]

    # ---- in words ----

    @cached_property
    def _told(self) -> list[Table]:
        """What words tell of every column: counts first."""
        own = [table for table in self._tables.values() if table.words]
        return [Table("", self.counts), *own]

    def initial(self) -> list[str]:
        told = np.any([table.values[0] != 0 for table in self._told], axis=0)
        return self._state(0, told) or [f"no {self.schema.counted}"]

    def changes(self, step: int) -> list[str]:
        """What is different after a step, without what counts down to its end."""
        tables = [table.values for table in self._told]
        if self._labels is not None:
            tables.append(self._labels[:, : self.num_columns])
        changed = np.any([values[step] != values[step - 1] for values in tables], axis=0)
        names = self._names(step)
        for i in np.flatnonzero(changed).tolist():
            changed[i] = self.schema.countdown(names[i], 0) is None
        return self._state(step, changed) or ["no change"]

    def actions(self, step: int) -> list[str]:
        """What was selected in a step, and the links that it changed; nothing where none was
        made."""
        if self.edges[step - 1] == NO_EDGE:
            return []
        changed = [
            (link, "new" if link.exists[step] else "deleted")
            for link in self._links
            if link.exists[step] != link.exists[step - 1]
        ]
        changed.sort(key=lambda pair: (pair[0].source, pair[0].target))
        names = self._names(step) if changed else ()
        links = [f"{what} ({names[x.source]}, {names[x.target]})" for x, what in changed]
        return self.schema.words(self.steps, step - 1) + links

    @cached_property
    def _links(self) -> list[Link]:
        links = self.schema.links
        return [] if links is None else list(links(self.configurations))

    def _names(self, step: int) -> Sequence[str]:
        if self._labels is not None:
            return distinct_names(self._labels[step].tolist())
        assert self.schema.columns is not None
        return self.schema.columns

    def _state(self, step: int, columns: Bool[np.ndarray, " columns"]) -> list[str]:
        names, (counts, *others) = self._names(step), self._told
        texts = []
        for i in np.flatnonzero(columns).tolist():
            count, relation = int(counts.values[step, i]), ">=" if self._is_cut[step, i] else "="
            remarks = [x.words.format(x.values[step, i]) for x in others if x.values[step, i]]
            remark = f" ({', '.join(remarks)})" if remarks else ""
            text = self.schema.countdown(names[i], count) or f"{names[i]} {relation} {count}"
            texts.append(f"{text}{remark}")
        return texts

    # ---- as plain values ----

    def as_json(self) -> dict[str, Any]:
        """`witness`: the counts, in the order of `names` (`None` of slots); `quantities`: what else
        each configuration has, such as `timer` and `pending`; `halting`: whether it halts;
        `networks` where they change; `rules`: what was selected, or what the model calls it."""
        columns = self.schema.columns
        own = count_table(self.schema, self.configurations)
        found: dict[str, Any] = {
            "names": None if columns is None else list(columns)[: self.num_columns],
            "witness": self.counts.tolist(),
            "quantities": {
                table.prefix: table.values.tolist()
                for table in self._tables.values()
                if table.values.dtype.kind != "U" and table.prefix != own.prefix
            },
            "halting": self.configurations.is_halting.tolist(),
        }
        if (network := self.schema.networks) is not None:
            found["networks"] = [network(self.configurations, i) for i in range(len(self.path))]
        if self.schema.step_json is None:
            rules = self.selected.tolist()
            found["rules"] = [[None if r == NO_RULE else r for r in row] for row in rules]
        else:
            key, values_of = self.schema.step_json
            own = values_of(self.steps) if len(self.edges) else []
            found[key] = [*own, *[None] * (len(self.edges) - len(own))]
        return found

    # ---- as a run ----

    def replay(self, loop: int | None = None, names: Collection[str] | None = None) -> Any:
        """It as a run, of a loop up to its end.

        **Arguments:**

        - `loop`: the position where a loop begins that ends with the last configuration.
        - `names`: the columns in which the loop closes; `None` for all.

        **Raises:** `ValueError` for a model that cannot be run; `AssertionError` if the run goes
        through other configurations, or does not close the loop.
        """
        model, visited = self.graph.system, self.schema.visited
        if not isinstance(model, Model) or visited is None:
            raise ValueError(f"{model!r} cannot be run, so that its witnesses cannot be replayed.")
        options: LoweringOptions = {**self.graph.lowering}
        if self._is_cut.any():
            options["count_dtype"] = np.int64  # the search cuts any number
        solution = run(
            model,
            choice=self.choices,
            max_steps=max(len(self.path) - 1, 0),
            save=Save(budget=2**62),
            **options,
        )
        made = visited(solution)
        if not self._is_made_by(made):
            raise AssertionError(
                "The witness runs through other configurations than were found. This is a bug of "
                "snpjax, please report it."
            )
        if loop is not None and not self._is_closed_by(made, loop, names):
            raise AssertionError(
                "The loop of the witness does not close. This is a bug of snpjax, please report it."
            )
        return solution

    def _is_closed_by(
        self, made: ConfigurationsT, loop: int, names: Collection[str] | None
    ) -> bool:
        """Whether a run ends in the configuration in which a loop begins, as far as its numbers are
        not cut off."""
        ends = np.minimum([loop, len(self.path) - 1], len(made) - 1)
        is_seen = ~self._is_cut[-1]
        if names is not None and self.schema.columns is not None:
            is_seen = is_seen & np.isin(self.schema.columns, list(names))
        for table in self.schema.tables(made).values():
            start, end = table.values[ends, : self.num_columns]
            if not np.array_equal(start[is_seen], end[is_seen]):
                return False
        network = self.schema.networks
        return network is None or network(made, int(ends[0])) == network(made, int(ends[1]))

    def _is_made_by(self, made: ConfigurationsT) -> bool:
        """Whether a run goes through these configurations; where it has halted it stays."""
        rows = np.minimum(np.arange(len(self.path)), len(made) - 1)
        counted = next(x for x, table in self._tables.items() if table.values.dtype.kind != "U")
        for name, table in self.schema.tables(made).items():
            values = table.values[rows, : self.num_columns]
            wanted = self._tables[name].values
            if values.shape != wanted.shape:
                return False
            if name == counted:
                values = np.where(self._is_cut, np.minimum(values, wanted), values)
            if not np.array_equal(values, wanted):
                return False
        network, own = self.schema.networks, self.configurations
        return network is None or all(
            network(made, row) == network(own, i) for i, row in enumerate(rows.tolist())
        )
