"""Rules of populations in the native JSON, whose numbers may be lists of one number a neuron.

A rule that all neurons share may be a text, as elsewhere. Otherwise it is `{guard, consume,
produce, delay}`, or `{guard, consume, plasticity: {alpha, k, targets}}`, where `targets` are graphs
by the population that they lead to. `guard` is a text, or a list of terms `[low, high, period]`,
where `high` is `null` without end and `[low]` exactly that. `"consume": "all"` is the family of the
forgetting rules of the guard.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...spiking.model.guard import Guard
from ...spiking.model.rule import ALPHAS, Alpha
from ...spiking.model.rule_table import ALL, UNBOUNDED
from ...spiking.model.template import PlasticityTemplate, RuleTemplate
from ..json_checks import Entries, Findings, abbreviated
from ..json_text import JsonPath
from .graphs import read_graph
from .numbers import NumberReader
from .rules import OF_PLASTICITY, RuleReader


_KEYS = ("guard", "consume", "produce", "delay")
_PLASTIC_KEYS = ("guard", "consume", "plasticity")


class TemplateReader:
    """Reads the rules of populations."""

    def __init__(self, findings: Findings):
        self.findings = findings
        self.rules = RuleReader(findings)
        self.numbers = NumberReader(findings)

    def read_all(
        self, value: object, path: JsonPath, size: int | None
    ) -> list[tuple[RuleTemplate | PlasticityTemplate, JsonPath]]:
        """The rules in a list, with their paths, without those that have mistakes (noted)."""
        items = self.findings.items(value, path, "the list of rules")
        read = [(self._read(item, here, size), here) for here, item in items]
        return [(template, its_path) for template, its_path in read if template is not None]

    def _read(
        self, value: object, path: JsonPath, size: int | None
    ) -> RuleTemplate | PlasticityTemplate | None:
        if isinstance(value, str):
            read = self.rules.read_text(value, path)
            if read is None or not read.is_whole:
                return None
            try:
                return RuleTemplate.of(read.rule)  # pyright: ignore[reportArgumentType]
            except TypeError as error:  # it is of a variant
                self.findings.error(path, str(error))
                return None
        keys = _PLASTIC_KEYS if isinstance(value, dict) and "plasticity" in value else _KEYS
        entries = self.rules.entries(value, path, keys)
        if entries is None:
            return None
        is_whole = entries.has("consume")
        is_all = entries.values.get("consume") == "all"
        if is_all and keys is _KEYS:
            is_whole &= entries.has("guard")
        if not is_whole:
            return None
        consume = self._consume(entries.values["consume"], entries.at("consume"), size)
        if keys is _PLASTIC_KEYS:
            return self._plasticity(entries, consume, size)
        produce, delay = (
            self.numbers.per_neuron(entries.values.get(key, 0), entries.at(key), f'"{key}"', size)
            for key in ("produce", "delay")
        )
        guard = self._guard(entries, size)
        if consume is None or produce is None or delay is None:
            return None
        if ("guard" in entries and guard is None) or not entries.values.keys() <= set(_KEYS):
            return None
        return RuleTemplate(guard, consume, produce, delay)

    def _plasticity(
        self, entries: Entries, consume: "int | np.ndarray | None", size: int | None
    ) -> PlasticityTemplate | None:
        guard = self._guard(entries, size)
        change = self.rules.change(entries)
        if change is None:
            return None
        alpha = self._alpha(change.values["alpha"], change.at("alpha"), size)
        k = self.numbers.per_neuron(change.values["k"], change.at("k"), '"k"', size)
        given = change.mapping("targets")
        targets = {
            name: read_graph(self.findings, graph, (*change.at("targets"), name))
            for name, graph in given.items()
        }
        if alpha is None or k is None or consume is None:
            return None
        is_whole = entries.values.keys() <= set(_PLASTIC_KEYS)
        is_whole &= change.values.keys() <= set(OF_PLASTICITY)
        is_whole &= isinstance(change.values["targets"], dict)
        if ("guard" in entries and guard is None) or not is_whole:
            return None
        sound = {name: graph for name, graph in targets.items() if graph is not None}
        if len(sound) < len(targets):
            return None
        return PlasticityTemplate(guard, consume, alpha, k, sound)

    def _alpha(
        self, value: object, path: JsonPath, size: int | None
    ) -> "Alpha | Sequence[Alpha] | None":
        """One of `ALPHAS`, or one a neuron."""
        what, fix = "the kind of plasticity", f"write one of {', '.join(ALPHAS)}"
        for here, alpha in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(alpha, str) or alpha not in ALPHAS:
                return self.findings.wrong(
                    alpha, path if here is None else (*path, here), what, fix
                )
        if size is not None and isinstance(value, list) and len(value) != size:
            message = (
                f"{what} is a list of {len(value)} (write one text, or one for each of the {size} "
                "neurons)"
            )
            self.findings.error(path, message)
            return None
        return value  # pyright: ignore[reportReturnType]

    def _consume(
        self, value: object, path: JsonPath, size: int | None
    ) -> "int | np.ndarray | None":
        if value == "all":
            return ALL
        consume = self.numbers.per_neuron(value, path, '"consume"', size)
        if isinstance(consume, int) and consume < 1:
            message = f'"consume" is {consume} (write an integer from 1, or "all")'
            self.findings.error(path, message)
            return None
        return consume

    def _guard(
        self, entries: Entries, size: int | None
    ) -> Guard | list[tuple[Any, Any, Any]] | None:
        value, here = entries.values.get("guard"), entries.at("guard")
        if "guard" not in entries or isinstance(value, str):
            return self.rules.guard(entries)
        if not isinstance(value, list):
            fix = "write a text, or a list of [low, high, period]"
            return self.findings.wrong(value, here, "the guard", fix)
        terms = [self._term(term, (*here, i), size) for i, term in enumerate(value)]
        sound = [term for term in terms if term is not None]
        return sound if len(sound) == len(terms) else None

    def _term(self, value: object, path: JsonPath, size: int | None) -> tuple[Any, Any, Any] | None:
        if not isinstance(value, list) or not 1 <= len(value) <= 3:
            found = f"a list of {len(value)}" if isinstance(value, list) else abbreviated(value)
            message = f"a term of the guard is {found} (write [low, high, period])"
            self.findings.error(path, message)
            return None
        low = self.numbers.per_neuron(value[0], (*path, 0), "the low end", size)
        high, period = low, 1
        if len(value) > 1:
            high = self.numbers.per_neuron(
                value[1], (*path, 1), "the high end", size, null=UNBOUNDED
            )
        if len(value) > 2:
            period = self.numbers.per_neuron(value[2], (*path, 2), "the period", size)
        return None if low is None or high is None or period is None else (low, high, period)
