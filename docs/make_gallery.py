"""Build the gallery of published systems: a page with pictures, files, runs and what is proved.

    python docs/make_gallery.py        # writes docs/gallery, which is not committed

mkdocs runs it as a hook before it builds the site. Everything that the page states is computed here
from the files of examples/gallery by the claims in `ENTRIES`; a claim that does not hold ends the
build, and `tests/test_gallery.py` checks all of them.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np

import snpjax as snp
from snpjax.viz.page import export


ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
FOLDER = ROOT / "docs" / "gallery"
sys.path.append(str(EXAMPLES))

from register_machines import KOREC, execute  # noqa: E402


Model: TypeAlias = snp.SpikingSystem | snp.SleptsovNet


class Claim(Protocol):
    """Something that is checked of a model."""

    def check(self, model: Model) -> tuple[str, bool]:
        """The claim with its verdict as a sentence, and whether it holds."""
        ...


@dataclass(frozen=True)
class Query:
    """A query of `snpjax.check`, where some neurons may start with other numbers of spikes."""

    text: str
    spikes: Mapping[str, int] | None = None

    def check(self, model: Model) -> tuple[str, bool]:
        where = ""
        if self.spikes:
            where = f" where {', '.join(f'{n} starts with {k}' for n, k in self.spikes.items())}"
            model = starting(model, self.spikes)
        subject: Any = model
        verdict = snp.check(subject, self.text)
        evidence = str(verdict).splitlines()[0].rpartition(" (")[2].rstrip(")")
        return f"`{self.text}`{where}: {verdict.status.name.lower()} ({evidence})", bool(verdict)


@dataclass(frozen=True)
class Numbers:
    """The numbers up to `up_to` that the system computes, by all of its computations.

    `depth` bounds the search of an infinite graph; the claim is then about that many steps.
    """

    values: Sequence[int]
    up_to: int
    depth: int | None = None
    spikes: Mapping[str, int] | None = None

    def check(self, model: Model) -> tuple[str, bool]:
        subject: Any = starting(model, self.spikes or {})
        graph = snp.explore(subject, max_depth=self.depth)
        found = graph.intervals(self.up_to)
        within = f" within {self.depth} steps" if self.depth else ""
        where = "".join(f", {n} starting with {k}" for n, k in (self.spikes or {}).items())
        is_whole = self.depth is not None or found.complete_up_to >= self.up_to
        first, last = ", ".join(map(str, found.values[:4])), found.values[-1]
        numbers = f"{first}, ..., {last}" if len(found.values) > 5 else first
        text = f"numbers computed up to {self.up_to}{within}{where}: exactly {numbers}"
        return text, is_whole and tuple(found.values) == tuple(self.values)


@dataclass(frozen=True)
class Runs:
    """What is true of all runs that `holds` makes."""

    text: str
    holds: Callable[[snp.SpikingSystem], bool]

    def check(self, model: Model) -> tuple[str, bool]:
        assert isinstance(model, snp.SpikingSystem)
        return f"{self.text}: checked by running all of them", self.holds(model)


@dataclass(frozen=True)
class Entry:
    """A published system: what it is, where it comes from, its file in examples, and claims."""

    title: str
    citation: str
    file: str
    says: str
    claims: Sequence[Claim]
    max_steps: int = 40

    @cached_property
    def model(self) -> Model:
        path = EXAMPLES / self.file
        model = snp.read_net(path) if path.suffix == ".lsn" else snp.read(path)
        assert isinstance(model, snp.SpikingSystem | snp.SleptsovNet)
        return model

    @property
    def name(self) -> str:
        return Path(self.file).name.partition(".")[0]


def starting(model: Model, spikes: Mapping[str, int]) -> Model:
    """The model with other numbers of spikes, or tokens, at the start."""
    if isinstance(model, snp.SleptsovNet):
        marking = model.marking.copy()
        for name, tokens in spikes.items():
            marking[model.place(name)] = tokens
        return model.replace(marking=marking)
    return with_spikes(model, spikes)


def with_spikes(system: snp.SpikingSystem, spikes: Mapping[str, int]) -> snp.SpikingSystem:
    """The system with other numbers of spikes at the start."""
    neurons = [snp.Neuron(n.name, spikes.get(n.name, n.spikes), n.rules) for n in system.neurons]
    return system.replace(neurons=neurons) if spikes else system


def trains(model: snp.SpikingSystem, inputs: np.ndarray, *, max_steps: int = 40) -> np.ndarray:
    """Output trains `(steps, outputs, paths)` of inputs `(steps, inputs, paths)`."""
    paths = inputs.shape[-1]
    found = snp.run(model, inputs=inputs, paths=paths, max_steps=max_steps, save=snp.SAVE_OUTPUTS)
    return np.asarray(found.spike_trains)


def final(model: snp.SpikingSystem, spikes: Mapping[str, int], neurons: Sequence[str]) -> list[int]:
    """The spikes of some neurons when a run by first choices has halted."""
    solution = snp.run(with_spikes(model, spikes), max_steps=10_000, save=snp.SAVE_FINAL)
    assert solution.halted
    return [int(solution.spikes_of(name)) for name in neurons]


def bits(numbers: np.ndarray, width: int) -> np.ndarray:
    """`(width, numbers)`, the least significant bit first."""
    return np.asarray(numbers) >> np.arange(width)[:, None] & 1


def adds(model: snp.SpikingSystem) -> bool:
    x, y = (pairs.ravel() for pairs in np.mgrid[:16, :16])
    sent = trains(model, (bits(x, 5) + bits(y, 5))[:, None])[1:, 0]
    return bool(np.all((sent << np.arange(len(sent))[:, None]).sum(axis=0) == x + y))


def subtracts(model: snp.SpikingSystem) -> bool:
    x, y = (pairs.ravel() for pairs in np.mgrid[:16, :16])
    x, y = x[x >= y], y[x >= y]
    sent = trains(model, np.stack([bits(x, 5), bits(y, 5)], axis=1))[3:8, 0]
    return bool(np.all((sent << np.arange(5)[:, None]).sum(axis=0) == x - y))


def is_exclusive_or(model: snp.SpikingSystem) -> bool:
    both = np.array(list(product([0, 1], repeat=2))).T
    sent = trains(model, both[None], max_steps=10)[3, 0]
    return sent.tolist() == (both[0] ^ both[1]).tolist()


def are_gates(model: snp.SpikingSystem) -> bool:
    """One spike is false and two are true."""
    x, y = np.array(list(product([1, 2], repeat=2))).T
    sent = trains(model, np.stack([x + y, x + y, x])[None])[1]
    return np.array_equal(sent, [np.minimum(x, y), np.maximum(x, y), 3 - x])


def accepts_multiples(model: snp.SpikingSystem) -> bool:
    halts = {}
    for n in range(1, 13):
        train = [1, *[0] * n, 1]
        halts[n] = snp.run(model, inputs=np.array(train)[:, None], max_steps=100).halted
    return all(halted == (n % 3 == 0) for n, halted in halts.items())


def compares(model: snp.SpikingSystem) -> bool:
    return all(
        final(model, {"x": x, "y": y}, ["min", "max"]) == [min(x, y), max(x, y)]
        for x, y in product(range(5), repeat=2)
    )


def sorts_four(model: snp.SpikingSystem) -> bool:
    names, places = ([f"{kind}{i}" for i in range(4)] for kind in ("in", "out"))
    rng = np.random.default_rng(0)
    inputs = [rng.integers(0, 9, 4).tolist() for _ in range(25)]
    return all(final(model, dict(zip(names, x, strict=True)), places) == sorted(x) for x in inputs)


def sorts_five(model: snp.SpikingSystem) -> bool:
    names, places = ([f"{kind}{{{i}}}" for i in range(1, 6)] for kind in ("in", "place"))
    rng = np.random.default_rng(0)
    inputs = [rng.integers(1, 9, 5).tolist() for _ in range(25)]
    return all(final(model, dict(zip(names, x, strict=True)), places) == sorted(x) for x in inputs)


def doubles(model: snp.SpikingSystem) -> bool:
    spikes = snp.run(model, max_steps=20).configurations[::2, 0]
    return spikes.tolist() == [2**t for t in range(11)]


def follows_korec(model: snp.SpikingSystem) -> bool:
    """From 100 random contents of the registers from which the machine halts soon."""
    rng = np.random.default_rng(0)
    halting: list[tuple[list[int], list[int]]] = []
    while len(halting) < 100:
        registers = rng.integers(0, 4, 8).tolist()
        after = execute(KOREC, registers, most=200)
        if after is not None:
            halting.append((registers, after))
    spikes = np.array([[neuron.spikes] * 100 for neuron in model.neurons])
    rows = [model.names[f"r{i}"] for i in range(8)]
    spikes[rows] = 2 * np.array([before for before, _ in halting]).T
    found = snp.run(model, initial=spikes, paths=100, max_steps=2_000, save=snp.SAVE_FINAL)
    wanted = 2 * np.array([after for _, after in halting]).T
    return bool(np.all(found.halted)) and np.array_equal(np.asarray(found.spikes)[rows], wanted)


def spikes_first_in(step: int) -> Callable[[snp.SpikingSystem], bool]:
    def holds(model: snp.SpikingSystem) -> bool:
        solution = snp.run(model, max_steps=step + 10)
        return solution.halted and solution.spike_times()[0] == step

    return holds


IPY = "M. Ionescu, G. Paun, T. Yokomori: Spiking neural P systems. Fund. Inform. 71, 2006"
LEPORATI = (
    "A. Leporati, G. Mauri, C. Zandron, G. Paun, M. J. Perez-Jimenez: Uniform solutions to SAT and "
    "Subset Sum by spiking neural P systems. Natural Computing 8, 2009"
)
CETERCHI = "R. Ceterchi, A. I. Tomescu: Implementing sorting networks with SN P systems, 2008"
GUTIERREZ = (
    "M. A. Gutierrez-Naranjo, A. Leporati: First steps towards a CPU made of spiking neural P "
    "systems. Int. J. Computers, Communications and Control 4, 2009"
)

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "Every number but 1",
        f"{IPY}; without delays in X. Zeng et al. 2011",
        "natural_numbers.pli",
        "The smallest generator with a choice. `chooser` keeps a spike as long as it takes its "
        "first rule; the second one ends the computation.",
        (
            Numbers(range(2, 41), 40),
            Query("always output <= 2"),
            Query("on some path eventually halted"),
        ),
    ),
    Entry(
        "Every number but 1, with delays",
        IPY,
        "gallery/numbers_with_delays.snp.json",
        "The same set with delays. When neuron 2 takes `a -> a; 1` it is closed for a step and "
        "loses the spike of neuron 1.",
        (Numbers(range(2, 31), 30), Query('always ("1" <= 2 and "3" <= 3)')),
    ),
    Entry(
        "Even numbers",
        f"{IPY}, with longer delays",
        "gallery/even_numbers.snp.json",
        "Longer delays make both round trips two steps long.",
        (Numbers(range(4, 41, 2), 40), Query('always "1" + "2" <= 4')),
    ),
    Entry(
        "The number 3k + 2",
        IPY,
        "gallery/three_k_plus_two.snp.json",
        "The system for k = 2: neuron 1 holds 2k - 1 spikes, and neuron 2 waits for k of them.",
        (Numbers([8], 40), Query("eventually halted")),
    ),
    Entry(
        "The module ADD",
        IPY,
        "gallery/add.snp.json",
        "Instruction `li` of a register machine: add 1 to register `r` and continue with `lj` or "
        "`lk`. A register that holds n has 2n spikes.",
        (
            Query("eventually (halted and r = 6)"),
            Query("on some path eventually emits(lj)"),
            Query("on some path eventually emits(lk)"),
            Query("always (emits(lj) implies not emits(lk))"),
        ),
    ),
    Entry(
        "The module SUB",
        IPY,
        "gallery/sub.snp.json",
        "Subtract 1 from register `r` and continue with `lj`; if it is 0, continue with `lk`.",
        (
            Query("eventually (halted and r = 2)"),
            Query("eventually emits(lj)"),
            Query("never emits(lk)"),
            Query("eventually emits(lk)", {"r": 0}),
            Query("never emits(lj)", {"r": 0}),
            Query("eventually (halted and r = 0)", {"r": 0}),
        ),
    ),
    Entry(
        "The module FIN",
        f"{IPY}, wired in another way",
        "gallery/fin.snp.json",
        "Makes the content of a register the number of steps between two output spikes: `out` "
        "receives every spike of `r` twice, one step apart, and forgets two at a time.",
        (
            Numbers([3], 30),
            Numbers([9], 30, spikes={"r": 18}),
            Query("eventually halted"),
        ),
    ),
    Entry(
        "A register machine",
        IPY,
        "gallery/register_machine.snp.json",
        "The program `l0: ADD(1), l1; l1: ADD(1), l0 or lh` with FIN generates the even numbers. "
        "`examples/register_machines.py` builds such systems.",
        (Numbers([2, 4, 6, 8], 8, depth=40),),
    ),
    Entry(
        "A universal register machine",
        "A. Paun, G. Paun: Small universal spiking neural P systems. BioSystems 90, 2007; the "
        "machine by I. Korec 1996",
        "gallery/universal.snp.json",
        "Korec's machine of 22 instructions and 8 registers by the modules above: 75 neurons, "
        "without the modules for input and output of the paper's 84.",
        (
            Runs(
                "the registers at the end are those of the machine, from 100 random contents",
                follows_korec,
            ),
        ),
        max_steps=120,
    ),
    Entry(
        "Multiples of three",
        "An acceptor of numbers of steps between two input spikes",
        "gallery/multiples_of_three.snp.json",
        "Accepts by halting. n is the number of steps without a spike between two input spikes.",
        (Runs("halts exactly for multiples of 3, n from 1 to 12", accepts_multiples),),
    ),
    Entry(
        "Boolean gates",
        "M. Ionescu, D. Sburlan: Some applications of spiking neural P systems. Computing and "
        "Informatics 27, 2008",
        "gallery/gates.snp.json",
        "AND, OR and NOT. One spike is false, two spikes are true; both inputs arrive at once.",
        (Runs("the truth tables of AND, OR and NOT", are_gates),),
    ),
    Entry(
        "Exclusive or",
        "M. Ionescu, D. Sburlan 2008, by the index of the row of the truth table",
        "gallery/xor.snp.json",
        "`out` receives 1 + x + 2y spikes, and a rule for each row of the table.",
        (Runs("x xor y for all x, y", is_exclusive_or), Query("always out <= 4")),
    ),
    Entry(
        "A binary adder",
        GUTIERREZ,
        "bit_adder.snp.json",
        "One neuron adds two numbers bit by bit; `a^2/a -> lambda` keeps the carry.",
        (Runs("x + y for all x, y below 16", adds), Query("eventually halted")),
    ),
    Entry(
        "A binary subtractor",
        f"{GUTIERREZ} (rules; the wiring is reconstructed)",
        "gallery/subtractor.snp.json",
        "`out` holds 1 + 3x + y + borrow spikes. A clock gives the 1, so it never halts.",
        (Runs("x - y for all y <= x below 16", subtracts), Query("always out <= 6")),
    ),
    Entry(
        "A comparator",
        CETERCHI,
        "gallery/comparator.snp.json",
        "While both inputs send, `both` fires; while one sends, `one` fires.",
        (
            Query("eventually (halted and min = 2 and max = 4)"),
            Runs("min and max of all pairs below 5", compares),
        ),
    ),
    Entry(
        "A sorting network",
        CETERCHI,
        "gallery/sorting_network.snp.json",
        "Five comparators sort four numbers.",
        (Runs("25 random inputs are sorted", sorts_four),),
    ),
    Entry(
        "Sorting",
        "M. Ionescu, D. Sburlan 2008",
        "sorting.pli",
        "`s{i}` fires when exactly i inputs still send, and the i largest places get one more.",
        (
            Query('eventually (halted and "place{1}" = 1 and "place{5}" = 9)'),
            Runs("25 random inputs of five numbers are sorted", sorts_five),
        ),
    ),
    Entry(
        "Subset sum, non-uniform",
        LEPORATI,
        "gallery/subset_sum.snp.json",
        "Is there a subset of 3, 5, 7 whose sum is 8? A number is chosen by firing without delay. "
        "`out` spikes if the sum is right.",
        (
            Query("on some path eventually emits(out)"),
            Query("eventually halted"),
            Query("always out <= 15"),
        ),
    ),
    Entry(
        "Subset sum, uniform",
        LEPORATI,
        "gallery/subset_sum_uniform.snp.json",
        "Numbers and target are initial spikes (two for each unit); the rules depend only on how "
        "many numbers there are. It halts on some path if there is a subset.",
        (
            Query("on some path eventually halted"),
            Query("never halted", {"target": 4}),
        ),
    ),
    Entry(
        "SAT by division and budding",
        "L. Pan, G. Paun, M. J. Perez-Jimenez: Spiking neural P systems with neuron division and "
        "budding. Science China Information Sciences 54, 2011",
        "gallery/sat.snp.json",
        "(x or not y) and (x or y). Neurons divide until there is one for each assignment.",
        (Runs("the output spikes first in step 2n + nm + 6 = 14", spikes_first_in(14)),),
    ),
    Entry(
        "Plasticity: 3m + 1",
        "F. G. C. Cabarle, H. N. Adorna, M. J. Perez-Jimenez, T. Song: Spiking neural P systems "
        "with structural plasticity. Neural Computing and Applications 26, 2015",
        "plasticity.snp.json",
        "`i` creates a synapse to `j` or `m`, sends a spike along it, and deletes it again.",
        (Numbers(range(1, 41, 3), 40), Query("always m <= 1")),
    ),
    Entry(
        "Exhaustive use of rules",
        "M. Ionescu, G. Paun, T. Yokomori: Spiking neural P systems with an exhaustive use of "
        "rules. Int. J. Unconventional Computing 3, 2007",
        "gallery/doubling.snp.json",
        "A rule is used as often as possible in a step. Neuron 1 holds 2^t spikes after 2t steps.",
        (Runs("2^t spikes for t up to 10", doubles),),
        max_steps=12,
    ),
    Entry(
        "Addition as a Sleptsov net",
        "D. A. Zaitsev: Sleptsov nets run fast. IEEE Transactions on Systems, Man, and "
        "Cybernetics 46, 2016",
        "gallery/addition.lsn",
        "p3 := p1 + p2 in three steps, whatever the numbers.",
        (
            Query("eventually (halted and p3 = 12)"),
            Query("eventually (halted and p3 = 1000000)", {"p1": 999_995}),
        ),
    ),
)


def checked(entry: Entry) -> Iterator[str]:
    """The claims with their verdicts.

    **Raises:** `AssertionError` for a claim that does not hold.
    """
    for claim in entry.claims:
        text, holds = claim.check(entry.model)
        if not holds:
            raise AssertionError(f"{entry.title}: {text}")
        yield text


def draw(entry: Entry, path: Path) -> None:
    """The picture of the network or the net."""
    from matplotlib import pyplot

    if isinstance(entry.model, snp.SleptsovNet):
        axes = snp.viz.net(entry.model)
    else:
        axes = snp.viz.network(entry.model, max_neurons=80)
    figure = axes.get_figure(root=True)
    assert figure is not None
    snp.viz.save(figure, path)
    pyplot.close(figure)


def text_of(entry: Entry, claims: Sequence[str]) -> str:
    """The section of an entry."""
    copied = Path(entry.file).name
    lines = [
        f"## {entry.title}",
        "",
        f"*{entry.citation}.*",
        "",
        entry.says,
        "",
        f"![{entry.title}]({entry.name}.svg)",
        "",
        f"[File]({copied}) · [A run, step by step]({entry.name}.html)",
        "",
        "What is proved or checked:",
        "",
        *(f"- {claim}" for claim in claims),
    ]
    return "\n".join(lines)


INTRODUCTION = """\
# Gallery

Published systems that you can open, run and check. Each has a file that snpjax wrote itself from
the definition in the paper, a picture, a page that shows a run step by step without a server, and
claims that are proved or checked whenever this page is built.

```sh
snpjax run examples/gallery/even_numbers.snp.json --seed 7
snpjax check examples/gallery/add.snp.json "eventually (halted and r = 6)"
snpjax view examples/gallery/universal.snp.json
```

A query is about all computations; `on some path` asks for one. [Checking](../checking.md) explains
the language.
"""


def main(folder: Path = FOLDER) -> None:
    """Write the page and what it links to."""
    folder.mkdir(exist_ok=True)
    sections = [INTRODUCTION]
    for entry in ENTRIES:
        sections.append(text_of(entry, list(checked(entry))))
        draw(entry, folder / f"{entry.name}.svg")
        export(entry.model, folder / f"{entry.name}.html", max_steps=entry.max_steps)
        source = EXAMPLES / entry.file
        (folder / source.name).write_bytes(source.read_bytes())
    (folder / "index.md").write_text("\n\n".join(sections) + "\n", encoding="utf-8")


def on_pre_build(config: object) -> None:
    """Called by mkdocs before it collects the files of the site."""
    del config
    main()


if __name__ == "__main__":
    main()
