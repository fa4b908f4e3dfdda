"""The matrix form: M, spiking vectors, C_t = C_{t-1} + S_t M, as objects to look at.

This is for people and for checks; a run stores M through `snpjax.spiking.Transition`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int

from snpjax_formats import Edges

from ...choice import NO_RULE
from ..lower.host_program import edges_of
from ..lower.transition import NumberedRules, transition_edges
from ..model.system import SpikingSystem


def _dense(edges: Edges) -> Int[np.ndarray, "sources targets"]:
    dense = np.zeros((edges.num_sources, edges.num_targets), np.int64)
    dense[edges.source, edges.target] = 1 if edges.value is None else edges.value
    return dense


@dataclass(frozen=True, eq=False)
class TransitionMatrix:
    """The transition matrix M of a static system: m rules as rows, q neurons as columns.

    M[r, j] is -c_r where j is the neuron of rule r, plus w(i, j) p_r where (i, j) is a synapse of
    the rule's neuron i. Rules are numbered through the neurons in order of declaration.

    ??? cite "Source"
        Zeng et al. 2011; Martinez-del-Amor et al. 2017, Definition 2. Differs from them in: 1. a
        column of a neuron without rules has no negative entry; 2. weights.
    """

    system: SpikingSystem

    def __post_init__(self) -> None:
        NumberedRules.of(self.system)  # refuses one that is not static

    @cached_property
    def _numbered(self) -> NumberedRules:
        return NumberedRules.of(self.system)

    @cached_property
    def edges(self) -> Edges:
        """M as a coordinate list: `source` is a rule, `target` a neuron."""
        return transition_edges(self.system)

    @cached_property
    def matrix(self) -> Int[np.ndarray, "rules neurons"]:
        """M itself, in 64 bits."""
        return _dense(self.edges)

    @cached_property
    def consumption(self) -> Int[np.ndarray, "rules neurons"]:
        """K: K[r, i] = c_r for the rule's own neuron i."""
        return -_dense(transition_edges(self.system, production=False))

    @cached_property
    def weights(self) -> Int[np.ndarray, "neurons neurons"]:
        """W: W[i, j] is the weight of the synapse (i, j), 0 without one."""
        return _dense(edges_of(self.system))

    @property
    def num_rules(self) -> int:
        return len(self._numbered.rules)

    @property
    def num_neurons(self) -> int:
        return len(self.system.neurons)

    @property
    def is_exact(self) -> bool:
        """Whether C_t = C_{t-1} + S_t M holds in every step: all delays are 0, and no count is
        clamped for compatibility.

        With delays it holds in steps before and during which no neuron is closed; in general
        C_t = C_{t-1} - S_t K + (E_t W + X_t) open_t, with the emissions E_t, the input X_t, and
        open_t = 1 for neurons that are open after the step.
        """
        is_clamped = self.system.compatibility.unchecked_consumption == "clamp"
        return not is_clamped and all(rule.delay == 0 for rule in self._numbered.rules)

    def spiking_vector(self, selected: Int[np.ndarray, " neurons"]) -> Int[np.ndarray, " rules"]:
        """S_t, from the rule selected by each neuron, as a row of `Solution.rules`."""
        selected = np.asarray(selected)
        if selected.shape != (self.num_neurons,):
            raise ValueError(
                f"{selected.shape} rules for {self.num_neurons} neurons. Give one a neuron."
            )
        counts = np.asarray([len(neuron.rules) for neuron in self.system.neurons])
        unknown = np.flatnonzero((selected < NO_RULE) | (selected >= counts))
        if len(unknown):
            neuron = self.system.neurons[unknown[0]]
            raise ValueError(
                f"{selected[unknown[0]]} is not a rule of neuron {neuron.name!r}, which has "
                f"{len(neuron.rules)}. Count them from 0; {NO_RULE} is none."
            )
        owner, number, _ = self._numbered
        return (selected[owner] == number).astype(np.int64)

    def next(
        self,
        configuration: Int[np.ndarray, " neurons"],
        spiking_vector: Int[np.ndarray, " rules"],
    ) -> Int[np.ndarray, " neurons"]:
        """The next configuration C + S M, without input; every neuron must be open before the step.

        **Arguments:**

        - `configuration`: `(neurons,)` spikes C.
        - `spiking_vector`: `(rules,)` how often each rule is used, S.

        **Returns:** `(neurons,)` spikes.

        **Raises:** `ValueError` if a rule of `spiking_vector` has a delay: the equation does not
        hold for it.
        """
        configuration, spiking_vector = np.asarray(configuration), np.asarray(spiking_vector)
        if configuration.shape != (self.num_neurons,) or spiking_vector.shape != (self.num_rules,):
            raise ValueError(
                f"{configuration.shape} spikes and {spiking_vector.shape} rules for a system of "
                f"{self.num_neurons} neurons and {self.num_rules} rules. Give one number each."
            )
        delayed = [r for r in np.flatnonzero(spiking_vector) if self._numbered.rules[r].delay]
        if delayed:
            raise ValueError(
                f"{self.rule_names[delayed[0]]} has a delay, for which C + S M is not exact. Use "
                "`consumption` and `weights`."
            )
        edges = self.edges
        assert edges.value is not None
        after = configuration.astype(np.int64)
        np.add.at(after, edges.target, spiking_vector[edges.source] * edges.value)
        return after

    @cached_property
    def rule_names(self) -> tuple[str, ...]:
        """`r1/i1`: the number of each rule from 1, and its neuron."""
        names = [self.system.neurons[owner].name for owner in self._numbered.owner]
        return tuple(f"r{number}/{name}" for number, name in enumerate(names, start=1))

    def ell(self) -> list[list[tuple[int, str] | None]]:
        """The ELL form of M: slot by slot, the (value, neuron) of each rule, consumption first.

        z = largest out-degree + 1 slots. Hernandez-Tello et al. print 60 positions for sorting
        three numbers; 4 slots of 12 rules are 48.
        """
        names = [neuron.name for neuron in self.system.neurons]
        columns: list[list[tuple[int, str] | None]] = []
        for rule, owner in enumerate(self._numbered.owner):
            targets = [j for j in np.flatnonzero(self.matrix[rule]) if j != owner]
            entries = [(int(self.matrix[rule, j]), names[j]) for j in (owner, *targets)]
            columns.append([*entries, *[None] * (self._largest_out_degree + 1 - len(entries))])
        return [list(slot) for slot in zip(*columns, strict=True)]

    def compressed(self) -> list[list[int]]:
        """The compressed synapse matrix: slot by slot, each neuron's target; q is not a target."""
        weights = self.weights
        columns = [np.flatnonzero(weights[i]).tolist() for i in range(self.num_neurons)]
        z = self._largest_out_degree
        padded = [column + [self.num_neurons] * (z - len(column)) for column in columns]
        return [list(slot) for slot in zip(*padded, strict=True)]

    def words(self) -> dict[str, int]:
        """Words (one a number) that the papers' representations need, by their formulas.

        With delays each needs q counters and 2m words more.

        ??? cite "Source"
            Hernandez-Tello et al. 2024, section 4. Their 3n^3 + 6n^2 + 5n + 1 for sorting n numbers
            in the sparse form should read 3n^3 + 6n^2 + 9n + 1.
        """
        m, q, k = self.num_rules, self.num_neurons, self._largest_out_degree
        delays = 0 if self.is_exact else q + 2 * m
        return {
            "sparse": m * q + 3 * m + 2 * q + 1 + delays,
            "ell": 2 * m * (k + 1) + 3 * m + 2 * q + 1 + delays,
            "compressed": q * k + 3 * q + 4 * m + 1 + delays,
        }

    def __str__(self) -> str:
        """M as the papers print it."""
        heads = ["", *(neuron.name for neuron in self.system.neurons)]
        body = [
            [name, *map(str, row)]
            for name, row in zip(self.rule_names, self.matrix.tolist(), strict=True)
        ]
        return _aligned([heads, *body])

    def ell_table(self) -> str:
        """The ELL form as text."""
        heads = [f"r{number}" for number in range(1, self.num_rules + 1)]
        cells = [["." if e is None else f"{e[0]},{e[1]}" for e in slot] for slot in self.ell()]
        return _aligned([heads, *cells])

    def compressed_table(self) -> str:
        """The compressed synapse matrix as text."""
        heads = [neuron.name for neuron in self.system.neurons]
        return _aligned([heads, *([str(target) for target in slot] for slot in self.compressed())])

    @property
    def _largest_out_degree(self) -> int:
        return edges_of(self.system).max_out_degree()


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        " ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
