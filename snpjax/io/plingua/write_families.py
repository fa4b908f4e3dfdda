"""Writing populations: statements with ranges wherever numbers go in even steps."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from snpjax_formats import Edges, graphs

from ..._text.counts import plural
from ...spiking.model.population import PopulationSystem
from ...spiking.model.population_parts import Population, Projection
from ...spiking.model.rule_table import ALL, UNBOUNDED
from ...spiking.model.template import (
    PlasticityTemplate,
    RuleTemplate,
    column,
    guard_of,
    text_of_neuron,
)
from ..losses import Losses
from .labels import LabelsOf
from .projections import intervals_of
from .write import RuleTexts, amount, input_statements, listing, model, spiking


_LEAST_RUN = 3  # fewer instances are written one by one
_MANY_RUNS = 8


def can_be_ranges(system: PopulationSystem) -> bool:
    """Whether every population is one neuron of its name, or has indices one after another."""
    return all(_first_index(population) is not None for population in system.populations.values())


def _first_index(population: Population) -> int | None:
    indices = population.names.indices
    if indices is None or indices.shape[1] == 0 or population.size == 0:
        return 0
    first = int(indices[0, 0])
    in_order = indices.shape[1] == 1 and np.array_equal(
        indices[:, 0], np.arange(first, first + population.size)
    )
    return first if in_order and first >= 0 else None


def write_families(system: PopulationSystem, losses: Losses) -> str:
    """The text of a file with the families of the system as ranges."""
    return _FamilyWriter(system, losses).text()


class _FamilyWriter:
    def __init__(self, system: PopulationSystem, losses: Losses):
        self.system = system
        self.losses = losses
        indexed = {name for name, p in system.populations.items() if not p.names.are_plain}
        self.labels = LabelsOf(system.populations, indexed)
        self.texts = RuleTexts(self.labels, losses)
        self.first = {name: _first_index(p) or 0 for name, p in system.populations.items()}

    def text(self) -> str:
        if self.system.signed:
            self.losses.add("the declaration that counts may be negative", "written without it")
        populations = self.system.populations.values()
        for population in populations:
            if population.names.indices is None and population.size:
                item = f"the names {population.name}[0], ... of a population"
                self.losses.rename(item, f"read as {population.name}{{0}}, ...")
        statements = [
            *(text for population in populations for text in self._neurons(population)),
            *(text for population in populations for text in self._contents(population)),
            *(text for projection in self.system.projections for text in self._arcs(projection)),
            *self._input(),
            *(text for name in self.system.output for text in self._output(name)),
            *(text for population in populations for text in self._rules(population)),
        ]
        return model(self.labels.table(self.losses), _joined(statements))

    # Labels

    def _is_plain(self, name: str) -> bool:
        return self.system.populations[name].names.are_plain

    def _label(self, name: str, index: str) -> str:
        return self.labels[name] if self._is_plain(name) else f"{self.labels[name]}{{{index}}}"

    def _label_of(self, neuron: str) -> str:
        """The label of a population of one neuron, or of a neuron."""
        position = self.system.slice_of(neuron).start
        name, positions = self.system.population_at(position)
        return self._label(name, str(self.first[name] + position - positions.start))

    def _ranges(self, name: str, variable: str = "i") -> list[str]:
        """The range of all neurons of a population."""
        if self._is_plain(name):
            return []
        first, size = self.first[name], self.system.populations[name].size
        return [f"{first}<={variable}<={first + size - 1}"]

    # Statements

    def _neurons(self, population: Population) -> "Iterator[str | _Item]":
        if population.size:
            name = population.name
            yield _listed("@mu", self._label(name, "i"), self._ranges(name))

    def _contents(self, population: Population) -> Iterator[str]:
        spikes = column(population.spikes, population.size)
        negative = np.flatnonzero(spikes < 0)
        if len(negative):
            item = (
                f"the negative spikes of {plural(len(negative), 'neuron')} of {population.name!r}"
            )
            self.losses.add(item, "written as 0")
        where = np.flatnonzero(spikes > 0)
        for run in _runs([where + self.first[population.name], spikes[where]]):
            label = self._label(population.name, run.text(0))
            yield _statement(f"@ms({label}) = {_amount(run, 1)}", run.ranges())

    def _output(self, name: str) -> "Iterator[str | _Item]":
        if name in self.system.populations:
            if self.system.populations[name].size:
                yield _listed("@mout", self._label(name, "i"), self._ranges(name))
        else:
            yield _Item("@mout", self._label_of(name))

    def _input(self) -> list[str]:
        trains = []
        for name, train in self.system.input.items():
            positions = self.system.slice_of(name)
            array = np.asarray(train, np.int64)
            for own, position in enumerate(range(positions.start, positions.stop)):
                neuron = self.system.name_of(position)
                its = array if array.ndim == 1 else array[:, own]
                trains.append((neuron, self._label_of(neuron), its.tolist()))
        return input_statements(trains, self.losses)

    # Synapses

    def _arcs(self, projection: Projection) -> "Iterator[str | _Item]":
        source, target = projection.source, projection.target
        graph = projection.description
        sizes = self.system.populations[source].size, self.system.populations[target].size
        if 0 in sizes:
            return
        here = f"projection {source!r} -> {target!r}"
        if isinstance(graph, graphs.AllToAll | graphs.OneToOne | graphs.Intervals):
            if graph.weight != 1:
                self.losses.add(f"weight {graph.weight} of {here}", "written with weight 1")
        if isinstance(graph, graphs.AllToAll) and (graph.self_edges or max(sizes) == 1):
            if graph.self_edges:
                ranges = [*self._ranges(target, "j"), *self._ranges(source)]
                yield self._arc(source, "i", target, "j", ranges)
            return
        if isinstance(graph, graphs.AllToAll):
            apart = f"i<>{_affine('j', 1, self.first[source] - self.first[target])}"
            ranges = [*self._ranges(target, "j"), *self._ranges(source), apart]
            yield self._arc(source, "i", target, "j", ranges)
        elif isinstance(graph, graphs.Intervals) and not self._is_plain(
            target if graph.by == "source" else source
        ):
            yield from self._intervals(graph, source, target)
        else:
            yield from self._pairs(graph.edges(*sizes), source, target, here)

    def _arc(
        self, source: str, i: str, target: str, j: str, ranges: Sequence[str]
    ) -> "str | _Item":
        arc = f"({self._label(source, i)}, {self._label(target, j)})"
        return _listed("@marcs", arc, ranges)

    def _intervals(
        self, graph: graphs.Intervals, source: str, target: str
    ) -> "Iterator[str | _Item]":
        by_source = graph.by == "source"
        row, other = (source, target) if by_source else (target, source)
        for start, stop in zip(np.atleast_2d(graph.start), np.atleast_2d(graph.stop), strict=True):
            where = np.flatnonzero(start < stop)
            ends = (start[where] + self.first[other], stop[where] - 1 + self.first[other])
            for run in _runs([where + self.first[row], *ends]):
                ranges = [f"{run.text(1)}<=j<={run.text(2)}", *run.ranges()]
                i, j = (run.text(0), "j") if by_source else ("j", run.text(0))
                yield self._arc(source, i, target, j, ranges)

    def _pairs(self, edges: Edges, source: str, target: str, here: str) -> "Iterator[str | _Item]":
        edges = edges.canonical()
        if edges.value is not None and np.any(edges.value != 1):
            count = int((edges.value != 1).sum())
            item = f"the weights of {plural(count, 'synapse')} of {here}"
            self.losses.add(item, "written with weight 1")
        order = np.lexsort((edges.target, edges.source))
        i, j = edges.source[order].astype(np.int64), edges.target[order].astype(np.int64)
        runs = list(_runs([i + self.first[source], j + self.first[target]]))
        if len(runs) > _LEAST_RUN and not (self._is_plain(source) or self._is_plain(target)):
            # A range of targets for each source takes fewer statements where it is long.
            sizes = self.system.populations[source].size, self.system.populations[target].size
            intervals = intervals_of(i, j, *sizes, least=1)
            if intervals is not None:
                statements = list(self._intervals(intervals, source, target))
                if len(statements) < len(runs):
                    yield from statements
                    return
        for run in runs:
            yield self._arc(source, run.text(0), target, run.text(1), run.ranges())

    # Rules

    def _rules(self, population: Population) -> Iterator[str]:
        for number, template in enumerate(population.templates, start=1):
            here = f"population {population.name!r}, rule {number}"
            if isinstance(template, PlasticityTemplate):
                size = population.size
                text = text_of_neuron(template, 0, size) if size else "for an empty population"
                self.losses.add(f"{here}, the plasticity rule {text}", "left out")
            elif np.any(np.asarray(template.consume) == ALL):
                yield from self._consume_all(population, template, here)
            else:
                yield from self._rule(population, template, here)

    def _consume_all(
        self, population: Population, template: RuleTemplate, here: str
    ) -> Iterator[str]:
        size, name = population.size, population.name
        for term in template.terms():
            low, high, period = (column(x, size) for x in term)
            low = low + -(-np.maximum(1 - low, 0) // period) * period
            endless = np.flatnonzero((low <= high) & (high == UNBOUNDED))
            if len(endless):
                text = text_of_neuron(template, int(endless[0]), size)
                self.losses.add(f"{here}, {text}: it has no end", "left out")
            where = np.flatnonzero((low <= high) & (high != UNBOUNDED))
            index = where + self.first[name]
            for stride in np.unique(period[where]).tolist():
                its = period[where] == stride
                last = (high[where] - low[where]) // stride
                columns = [
                    index[its],
                    low[where][its],
                    last[its] if stride > 1 else high[where][its],
                ]
                for run in _runs(columns):
                    at = f"'{self._label(name, run.text(0))}"
                    if stride == 1:
                        count, span = "j", f"{run.text(1)}<=j<={run.text(2)}"
                    else:
                        count, span = f"({run.text(1)}+{stride}*j)", f"0<=j<={run.text(2)}"
                    rule = spiking(f"a*{count}", "#", at, None, "0")
                    yield _statement(rule[:-1], [span, *run.ranges()])

    def _rule(self, population: Population, template: RuleTemplate, here: str) -> Iterator[str]:
        size = population.size
        effect = [column(x, size) for x in (template.consume, template.produce, template.delay)]
        index = np.arange(size) + self.first[population.name]
        for where, terms in _guards(template, effect[0], size):
            text = None
            if terms is not None:
                text = self._guard(terms)
                if text is None:
                    rule = text_of_neuron(template, int(where[0]), size)
                    self.losses.add(f"{here}, {rule}: its guard has no text", "left out")
                    continue
            for run in _runs([index[where], *(values[where] for values in effect)]):
                at = f"'{self._label(population.name, run.text(0))}"
                rule = spiking(_amount(run, 1), _amount(run, 2), at, text, run.text(3))
                yield _statement(rule[:-1], run.ranges())

    def _guard(self, terms: list[list[int]]) -> str | None:
        try:
            return self.texts.guard(guard_of(terms))
        except ValueError:  # larger than guards are
            return None


def _guards(
    template: RuleTemplate, consume: np.ndarray, size: int
) -> Iterator[tuple[Int[np.ndarray, " neurons"], list[list[int]] | None]]:
    """The neurons that share each guard, and its terms, `None` for exactly what is consumed. Those
    where no count satisfies it are left out: they have no such rule."""
    terms = [tuple(column(x, size) for x in term) for term in template.terms()]
    rows = []
    for low, high, period in terms:
        empty = low > high
        single = low == high
        rows += [
            np.where(empty, 1, low),
            np.where(empty, 0, high),
            np.where(empty | single, 1, period),
        ]
    if not rows or not size:
        return
    table = np.stack(rows, axis=1)
    has_term = table[:, 0::3] <= table[:, 1::3]
    is_one = has_term.sum(axis=1) == 1
    only = np.argmax(has_term, axis=1)
    low, high = (np.take_along_axis(table, (3 * only + k)[:, None], 1)[:, 0] for k in (0, 1))
    is_exact = is_one & (low == high) & (low == consume)
    if is_exact.any():
        yield np.flatnonzero(is_exact), None
    others = np.flatnonzero(has_term.any(axis=1) & ~is_exact)
    if not len(others):
        return
    distinct, which = np.unique(table[others], axis=0, return_inverse=True)
    which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    parts = np.split(others[order], np.flatnonzero(np.diff(which[order])) + 1)
    for row, where in zip(distinct, parts, strict=True):
        yield where, row.reshape(-1, 3).tolist()


class _Run:
    """Rows that go in even steps, as expressions of one variable; or a single row."""

    def __init__(self, first: Sequence[int], step: Sequence[int], count: int):
        self.first, self.step, self.count = first, step, count
        # Where the index goes by ones the variable is the index itself.
        self.start = first[0] if step and step[0] == 1 else 0

    def text(self, nth: int) -> str:
        step = self.step[nth]
        return _affine("i", step, self.first[nth] - step * self.start)

    def ranges(self) -> list[str]:
        if self.count == 1:
            return []
        return [f"{self.start}<=i<={self.start + self.count - 1}"]


def _runs(columns: Sequence[np.ndarray]) -> Iterator[_Run]:
    """Rows of columns, the first of which is an index, cut into runs that go in even steps; short
    runs row by row."""
    table = np.stack(columns).astype(np.int64)
    stops = _stops(table)
    if len(stops) > _MANY_RUNS:  # perhaps equal values repeat with a period
        order = np.lexsort(table)
        same = table[:, order]
        ends = _stops(same)
        if len(ends) < len(stops):
            table, stops = same, ends
    start = 0
    for stop in stops:
        step = table[:, start + 1] - table[:, start] if stop - start > 1 else 0 * table[:, start]
        yield _Run(table[:, start].tolist(), step.tolist(), stop - start)
        start = stop


def _stops(table: np.ndarray) -> list[int]:
    """Where runs end."""
    size = table.shape[1]
    steps = np.diff(table, axis=1)
    bends = (np.flatnonzero(np.any(steps[:, 1:] != steps[:, :-1], axis=0)) + 1).tolist()
    stops, start, nth = [], 0, 0
    while start < size:
        while nth < len(bends) and bends[nth] <= start:
            nth += 1
        stop = bends[nth] + 1 if nth < len(bends) else size
        start = stop if stop - start >= _LEAST_RUN else start + 1
        stops.append(start)
    return stops


def _amount(run: _Run, nth: int) -> str:
    if run.step[nth] == 0:
        return amount(run.first[nth])
    return f"a*({run.text(nth)})"


def _affine(variable: str, step: int, offset: int) -> str:
    if step == 0:
        return str(offset)
    sign = "-" if step < 0 else ""
    times = f"{sign}{variable}" if abs(step) == 1 else f"{step}*{variable}"
    if step < 0 and offset > 0:
        return f"{offset}{times}"
    return times if offset == 0 else f"{times}{offset:+d}"


class _Item(NamedTuple):
    """One item of a list without ranges."""

    keyword: str
    item: str


def _listed(keyword: str, item: str, ranges: Sequence[str]) -> str | _Item:
    return _statement(f"{keyword} = {item}", ranges) if ranges else _Item(keyword, item)


def _joined(statements: Iterable[str | _Item]) -> Iterator[str]:
    """The statements, items that follow each other as one list."""
    for keyword, group in groupby(
        statements, lambda x: x.keyword if isinstance(x, _Item) else None
    ):
        if keyword is None:
            yield from (text for text in group if isinstance(text, str))
        else:
            yield from listing(keyword, [x.item for x in group if isinstance(x, _Item)])


def _statement(instruction: str, ranges: Sequence[str]) -> str:
    return f"{instruction} : {', '.join(ranges)};" if ranges else f"{instruction};"
