"""Systems with infinitely many configurations, or with a size that can be chosen, each with a
condition that always holds: what `snpjax.prove` is for. Tests prove all of them, and
bench/checking.py measures how long it takes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from register_machines import Add, Sub, to_system

import snpjax as snp
from snpjax.machine import Explorable
from snpjax.sleptsov import Execution, Petri, net_of_text


@dataclass(frozen=True)
class Example:
    """A model with a condition that always holds, and a similar one that does not.

    - `source`: where the model is from.
    - `broken`: a query that some computation refutes.
    """

    name: str
    source: str
    system: Explorable[Any, Any]
    query: str
    broken: str


def examples() -> Iterator[Example]:
    """All of them."""
    yield growing_ring(8)
    yield register_counter()
    yield register_transfer(50)
    yield sorting([70, 30, 90, 50])
    yield even_generator()
    yield any_sum(200)
    yield delayed_relay()
    yield mutual_exclusion(6)
    yield unbounded_buffer()
    yield bounded_buffer(8)
    yield philosophers(8)
    yield readers_and_writers(6)
    yield token_ring(8)
    yield doubling()


# ---- SN P systems ----


def growing_ring(size: int) -> Example:
    """One spike goes round; each time a neuron without rules gets one, so that it never ends."""
    names = [f"n{i}" for i in range(1, size + 1)]
    neurons = [snp.Neuron(name, int(name == "n1"), ["a -> a"]) for name in names]
    synapses = [*zip(names, [*names[1:], names[0]], strict=True), (names[-1], "s")]
    return Example(
        "growing ring",
        "kPWorkbench, the routing ring, with a neuron that counts the rounds",
        snp.SpikingSystem([*neurons, snp.Neuron("s")], synapses),
        "always n1 + n2 <= 1",
        "always n1 + n2 <= 0",
    )


def register_counter() -> Example:
    """A register machine that adds 1 to either of two registers, for ever."""
    program = {"l0": Add(0, ["l0", "l1"]), "l1": Add(1, ["l0"])}
    return Example(
        "module ADD",
        "Ionescu, Paun, Yokomori 2006, the module ADD",
        to_system(program, [0, 0]),
        "always (r0 mod 2 = 0 and r1 mod 2 = 0)",
        "always (r0 mod 2 = 0 and r1 mod 4 = 0)",
    )


def register_transfer(content: int) -> Example:
    """A register machine that moves the content of one register to another."""
    program = {"l0": Sub(0, "l1", "lh"), "l1": Add(1, ["l0"])}
    return Example(
        "module SUB",
        "Ionescu, Paun, Yokomori 2006, the modules SUB and ADD",
        to_system(program, [content, 0]),
        f"always r1 <= {2 * content}",
        f"always r1 <= {2 * content - 1}",
    )


def sorting(numbers: list[int]) -> Example:
    """Numbers are sorted by as many steps as the largest has spikes."""
    places = range(1, len(numbers) + 1)
    neurons = [snp.Neuron(f"i{j}", n, ["a+/a -> a"]) for j, n in zip(places, numbers, strict=True)]
    for j in places:
        rules = [f"a^{k} -> {'a' if k == j else 'lambda'}" for k in places]
        neurons.append(snp.Neuron(f"s{j}", 0, rules))
    neurons += [snp.Neuron(f"o{j}") for j in places]
    synapses = [(f"i{j}", f"s{k}") for j in places for k in places]
    synapses += [(f"s{j}", f"o{k}") for j in places for k in places if k <= j]
    pairs = [f"o{j} >= o{j + 1}" for j in places[:-1]]
    return Example(
        "sorting",
        "Ionescu, Sburlan 2008",
        snp.SpikingSystem(neurons, synapses),
        f"always ({' and '.join(pairs)})",
        f"always {pairs[0].replace('>=', '<=')}",
    )


def even_generator() -> Example:
    """Pairs of spikes are passed on, sometimes late; the sum of what has left is even."""
    return Example(
        "even numbers",
        "Ionescu, Paun, Yokomori 2006, after the generator of the even numbers",
        snp.SpikingSystem(
            [
                snp.Neuron("a", 2, ["a^2 -> a^2", "a^2 -> a^2; 1"]),
                snp.Neuron("b", 0, ["(aa)+/a^2 -> a^2"]),
                snp.Neuron("c"),
            ],
            [("a", "a"), ("a", "b"), ("b", "c")],
            output="c",
        ),
        "always c mod 2 = 0",
        "always c mod 4 = 0",
    )


def any_sum(length: int) -> Example:
    """The serial adder of bits, on any input of two bits a step."""
    adder = snp.Neuron("add", 0, ["a -> a", "a^2/a -> lambda", "a^3/a^2 -> a"])
    return Example(
        "serial adder",
        "Gutierrez-Naranjo, Leporati 2009",
        snp.SpikingSystem([adder, snp.Neuron("sum")], [("add", "sum")]).with_input(
            snp.AnyInput(length, most=2, neurons=("add",))
        ),
        "always add <= 3",
        "always add <= 2",
    )


def delayed_relay() -> Example:
    """Two neurons that are closed for a while send one spike to and fro."""
    return Example(
        "closed relays",
        "Ionescu, Paun, Yokomori 2006, a delay of the definition",
        snp.SpikingSystem(
            [
                snp.Neuron("x", 1, ["a -> a; 2", "a -> a; 3"]),
                snp.Neuron("y", 0, ["a -> a; 1", "a -> a"]),
                snp.Neuron("s"),
            ],
            [("x", "y"), ("y", "x"), ("y", "s")],
        ),
        "always (x + y <= 1 and (open(x) or open(y)))",
        "always (x + y <= 1 and open(x))",
    )


# ---- nets ----


def _net(lines: list[str], marking: dict[str, int]) -> Execution:
    return Execution(net_of_text("\n".join(lines), marking), rule=Petri())


def mutual_exclusion(size: int) -> Example:
    """Processes with any number of requests share one semaphore."""
    lines, marking = [], {"free": 1}
    for i in range(1, size + 1):
        lines += [
            f"request{i}: idle{i} -> idle{i} wait{i}",
            f"enter{i}: wait{i} free -> critical{i}",
        ]
        lines += [f"leave{i}: critical{i} -> free done{i}"]
        marking[f"idle{i}"] = 1
    total = " + ".join(f"critical{i}" for i in range(1, size + 1))
    return Example(
        "mutual exclusion",
        "Dijkstra 1965, a semaphore, as a net",
        _net(lines, marking),
        f"always {total} <= 1",
        f"always {total} <= 0",
    )


def unbounded_buffer() -> Example:
    """A producer never waits; what was taken never exceeds what was made."""
    lines = [
        "produce: ready -> full made",
        "send: full -> ready buffer",
        "receive: buffer idle -> busy",
        "consume: busy -> idle taken",
    ]
    return Example(
        "unbounded buffer",
        "Peterson 1981, producer and consumer",
        _net(lines, {"ready": 1, "idle": 1}),
        "always taken <= made",
        "always taken + 1 <= made",
    )


def bounded_buffer(size: int) -> Example:
    """The same with a buffer of a given size, while all that is produced is counted."""
    lines = [
        "produce: ready -> full made",
        "send: full slot -> ready buffer",
        "receive: buffer idle -> busy slot",
        "consume: busy -> idle taken",
    ]
    return Example(
        "bounded buffer",
        "Peterson 1981, producer and consumer",
        _net(lines, {"ready": 1, "idle": 1, "slot": size}),
        f"always (buffer <= {size} and made - taken <= {size + 2})",
        f"always (buffer <= {size} and made - taken <= {size + 1})",
    )


def philosophers(size: int) -> Example:
    """Dining philosophers, with a place that counts the meals: no neighbours eat together."""
    lines, marking = [], {}
    for i in range(1, size + 1):
        after = i % size + 1
        lines += [f"take{i}: think{i} fork{i} fork{after} -> eat{i}"]
        lines += [f"stop{i}: eat{i} -> think{i} fork{i} fork{after} meals"]
        marking |= {f"think{i}": 1, f"fork{i}": 1}
    pairs = [f"eat{i} + eat{i % size + 1} <= 1" for i in range(1, size + 1)]
    return Example(
        "philosophers",
        "Dijkstra 1971",
        _net(lines, marking),
        f"always ({' and '.join(pairs)})",
        "always eat1 + eat3 <= 1",
    )


def readers_and_writers(size: int) -> Example:
    """A writer takes the permits of all readers; readers and writers come without end."""
    lines = [
        "come: gate -> gate waiting",
        "arrive: gate -> gate queued",
        "read: waiting permit -> reading",
        "leave: reading -> permit read",
        f"write: queued {size}permit -> writing",
        f"end: writing -> {size}permit written",
    ]
    return Example(
        "readers and writers",
        "Courtois, Heymans, Parnas 1971, as a net",
        _net(lines, {"gate": 1, "permit": size}),
        "never (reading >= 1 and writing >= 1)",
        f"always reading <= {size - 1}",
    )


def token_ring(size: int) -> Example:
    """Stations work, as often as they like, only while they hold the token."""
    lines, marking = [], {"token1": 1}
    for i in range(1, size + 1):
        lines += [
            f"begin{i}: token{i} rest{i} -> work{i}",
            f"end{i}: work{i} -> token{i} rest{i} done",
        ]
        lines += [f"pass{i}: token{i} -> token{i % size + 1}"]
        marking[f"rest{i}"] = 1
    pairs = [f"work{i} + work{j} <= 1" for i in range(1, 4) for j in range(i + 1, 5)]
    return Example(
        "token ring",
        "Le Lann 1977, as a net",
        _net(lines, marking),
        f"always ({' and '.join(pairs)})",
        "always work1 + work2 <= 0",
    )


def doubling() -> Example:
    """A Sleptsov net that doubles its tokens again and again, each time by one firing."""
    lines = [
        "there: x ?go -> 2y",
        "turn: go !x -> back",
        "here: y ?back -> x",
        "again: back !y -> go",
    ]
    return Example(
        "doubling",
        "Zaitsev et al. 2025, firing in maximal multiplicity",
        net_of_text("\n".join(lines), {"x": 2, "go": 1}),
        "always (x mod 2 = 0 and go + back = 1)",
        "always (x mod 4 = 0 and go + back = 1)",
    )
