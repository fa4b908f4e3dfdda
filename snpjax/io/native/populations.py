"""Systems of populations in the native JSON: large ones, whose neurons are never listed.

`{"schema": "snpjax/1", "name", "level", "signed", "populations": [{"name", "size", "spikes",
"rules", "indices"}], "projections": [{"from", "to", "graph"}], "input": {name: train}, "output":
[name], "compatibility": {option: value}}`. Spikes are a number or a list of one a neuron, rules are
described in `templates.py` and graphs in `graphs.py`, which are all to all unless given.
"""

from collections.abc import Sequence
from dataclasses import replace

from ...spiking.model.neuron_names import base_of
from ...spiking.model.population import PopulationSystem
from ...spiking.model.population_parts import Population, Projection
from ...spiking.model.population_validity import not_strict
from ...spiking.model.template import PlasticityTemplate, RuleTemplate, is_shared
from ...spiking.model.validity import Level, Place
from ..building import tell_problems, try_to_build
from ..json_checks import Entries, Findings
from ..json_text import JsonPath, Key
from .graphs import num_random, read_graph
from .header import read_header
from .numbers import NumberReader
from .templates import TemplateReader


_KEYS = "schema name level signed populations projections input output compatibility".split()
_OF_POPULATION = ("name", "size", "spikes", "rules", "indices")
_OF_PROJECTION = ("from", "to", "graph")
_ENDS = {"synapse_source": "from", "synapse_target": "to"}

_MAX_SIZE = 2**31 - 1
_MAX_COMPARED = 300_000  # pairs of terms of rules, which takes some 10 seconds (CPU, 2026-11)
_MAX_DRAWN = 2**24  # synapses that are drawn to look for one of a neuron with itself


class PopulationReader:
    """A system from a decoded file, and the path in the file of everything in the system."""

    def __init__(self, findings: Findings):
        self.findings = findings
        self.numbers = NumberReader(findings)
        self.templates = TemplateReader(findings)
        self.populations: list[Population] = []
        self.population_paths: list[JsonPath] = []
        self.rule_paths: list[list[JsonPath]] = []
        self.projections: list[Projection] = []
        self.projection_paths: list[JsonPath] = []
        self.output_paths: dict[str, JsonPath] = {}
        self.names: set[str] = set()
        self.are_names_known = True
        self._compared = 0.0

    def read(self, value: dict[str, object], level: Level) -> PopulationSystem | None:
        top = self.findings.entries(value, (), "the model", _KEYS)
        assert top is not None  # it has a schema
        header = read_header(top, level)
        self._read_populations(top)
        self._read_projections(top)
        input, output = self._input(top), self._output(top)
        if self._compared > _MAX_COMPARED:
            return None
        system, problems = try_to_build(
            lambda: PopulationSystem(
                self.populations,
                self.projections,
                input=input,
                output=output,
                signed=header.signed,
                name=header.name,
                compatibility=header.compatibility,
            )
        )
        if system is not None and header.level == "strict" and self._can_be_drawn(system):
            problems = tuple(not_strict(system))
        tell_problems(self.findings, problems, self._path)
        return system

    # Populations

    def _read_populations(self, top: Entries) -> None:
        items = top.items("populations")
        for path, item in items:
            entries = self.findings.entries(item, path, "the population", _OF_POPULATION)
            population = None if entries is None else self._population(entries)
            if population is not None:
                self.populations.append(population)
                self.population_paths.append(path)
        is_list = isinstance(top.values["populations"], list)
        self.are_names_known = is_list and len(self.populations) == len(items)
        self.names.update(population.name for population in self.populations)
        if not self.are_names_known:
            self._leave_out_targets()

    def _leave_out_targets(self) -> None:
        """Leave out rules with targets in populations that may be among those with mistakes."""
        for index, p in enumerate(self.populations):
            kept = [
                number
                for number, template in enumerate(p.templates)
                if isinstance(template, RuleTemplate) or template.targets.keys() <= self.names
            ]
            rules = [p.templates[number] for number in kept]
            self.populations[index] = replace(p, rules=rules)
            self.rule_paths[index] = [self.rule_paths[index][number] for number in kept]

    def _population(self, entries: Entries) -> Population | None:
        what = "the name of a population"
        name = entries.text("name", what)
        if name == "":
            self.findings.error(entries.at("name"), f"{what} is empty (write a text)")
        size = entries.take("size", self._size, "the size of a population")
        given = entries.values.get("spikes", 0)
        spikes = self.numbers.per_neuron(given, entries.at("spikes"), '"spikes"', size)
        indices = None
        if "indices" in entries:
            indices = entries.take("indices", self.numbers.row_or_table)
        given = entries.values.get("rules", [])
        rules = self.templates.read_all(given, entries.at("rules"), size)
        if not name or size is None or ("indices" in entries and indices is None):
            return None
        templates = [template for template, _ in rules]
        self._count(templates, size, entries.path)
        self.rule_paths.append([its_path for _, its_path in rules])
        return Population(name, size, 0 if spikes is None else spikes, templates, indices)

    def _size(self, value: object, path: JsonPath, what: str) -> int | None:
        size = self.findings.integer(value, path, what)
        if size is None or 0 <= size <= _MAX_SIZE:
            return size
        self.findings.error(path, f"{what} is {size} (write an integer from 0 to {_MAX_SIZE})")
        return None

    def _count(
        self, templates: Sequence[RuleTemplate | PlasticityTemplate], size: int, path: JsonPath
    ) -> None:
        """Refuse more rules than can be compared with each other."""
        num_terms = sum(len(template.terms()) for template in templates)
        width = 1 if all(map(is_shared, templates)) else size
        self._compared += num_terms * (num_terms - 1) / 2 * (1 + width / 1000)
        if self._compared > _MAX_COMPARED:
            message = (
                f"up to here there are too many rules to compare them, {num_terms:,} terms of "
                "guards in this population (write fewer rules in one population)"
            )
            self.findings.error((*path, "rules"), message)

    # What names populations

    def _is_known(self, name: str) -> bool:
        """Whether there may be a population or neuron of that name: it is reported once with the
        system, or not at all where names are missing."""
        return self.are_names_known or name in self.names or base_of(name) in self.names

    def _read_projections(self, top: Entries) -> None:
        for path, item in top.items("projections"):
            entries = self.findings.entries(item, path, "the projection", _OF_PROJECTION)
            if entries is None:
                continue
            source, target = (
                entries.text(key, f'"{key}" of a projection') for key in ("from", "to")
            )
            given = entries.values.get("graph", {"kind": "all_to_all"})
            graph = read_graph(self.findings, given, entries.at("graph"))
            if source is None or target is None or graph is None:
                continue
            if self._is_known(source) and self._is_known(target):
                self.projections.append(Projection(source, target, graph))
                self.projection_paths.append(path)

    def _input(self, top: Entries) -> dict[str, object]:
        read = {
            name: self.numbers.row_or_table(train, ("input", name), "an input train")
            for name, train in top.mapping("input").items()
        }
        return {
            name: train
            for name, train in read.items()
            if train is not None and self._is_known(name)
        }

    def _output(self, top: Entries) -> list[str]:
        names = []
        for path, item in top.items("output"):
            name = self.findings.text(item, path, "an output")
            if name is not None and self._is_known(name):
                names.append(name)
                self.output_paths.setdefault(name, path)
        return names

    def _can_be_drawn(self, system: PopulationSystem) -> bool:
        """Whether random graphs are small enough to look for synapses of a neuron with itself."""
        are_small = True
        for projection, path in zip(self.projections, self.projection_paths, strict=True):
            size = system.populations[projection.source].size
            num_drawn = num_random(projection.description, size)
            if projection.source == projection.target and num_drawn > _MAX_DRAWN:
                message = (
                    f"the graph is too large to look for self-synapses among {num_drawn:,.0f} "
                    "random numbers (read it at level extended)"
                )
                self.findings.error((*path, "graph"), message)
                are_small = False
        return are_small

    # Places

    def _path(self, place: Place, code: str) -> JsonPath:
        del code
        if place.kind == "input":
            return ("input", Key(f"{place.index}"))
        if isinstance(place.index, str):
            return self.output_paths[place.index]
        if place.kind == "neuron":
            return (*self.population_paths[place.index], *place.part)
        if place.kind == "rule":
            path = self.population_paths[place.index]
            if place.rule is not None:
                path = self.rule_paths[place.index][place.rule]
            return (*path, *place.part)
        path = self.projection_paths[place.index]
        end = _ENDS.get(place.kind)
        return (*path, *place.part) if end is None else (*path, end)
