"""Small nets as text, the way papers write them: `t1: p1 !p4 -> p2 p3` and `t1 > t2`."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from ..._text.listing import set_lines, table_lines
from ..._text.nearest import nearest
from .arcs import Arcs
from .names import Numbered
from .net import SleptsovNet
from .rules import AbstractRule, Sleptsov


_TERM = re.compile(r"([!?]?)([0-9]*)([^0-9\s!?][^\s]*)")
_RULE = re.compile(r"\s*(\S+?)\s*:(.*)")
_MAX_TERMS = 60  # of one kind in a text, more than fit into its line


def net_of_text(
    text: str,
    marking: Mapping[str, int] | None = None,
    *,
    places: Sequence[str] | None = None,
    rule: AbstractRule = Sleptsov(),  # noqa: B008 (a frozen object)
) -> SleptsovNet:
    """Parse a net from a few lines of text.

    ```python
    net = net_of_text("add: 2x y !stop -> sum\\nclear: sum ->\\nadd > clear", {"x": 6, "y": 4})
    ```

    **Arguments:**

    - `text`: a line `name: inputs -> outputs` for each transition and `name > name > ...` for
      priorities; `#` begins a comment. `3x` is the place x with multiplicity 3, `!x` an inhibitor
      arc, `!3x` one that requires fewer than 3 tokens, `?3x` a test of at least 3.
    - `marking`: initial tokens by the name of the place; 0 for the others.
    - `places`: all their names in order, also of those that no transition mentions; by default the
      places of the text, in order of first mention.
    - `rule`: of the steps.

    **Returns:** the net.

    **Raises:** `ValueError` with every line that has a syntax error or names an unknown place or
    transition, and every name of `marking` that is no place.
    """
    rules, chains, problems = [], [], []
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.partition("#")[0].strip()
        match = _RULE.fullmatch(line)
        if match and match[2].count("->") == 1:
            sides = [_terms(side) for side in match[2].split("->")]
            if not any(isinstance(side, str) for side in sides):
                rules.append((match[1], *sides))
                continue
            problems.append(f"line {number}: {next(s for s in sides if isinstance(s, str))}")
        elif ">" in line and not match:
            chains.append((number, [name.strip() for name in line.split(">")]))
        elif line:
            problems.append(f"line {number}: {line!r} (write `t: p1 !p2 -> 2p3`, or `t > u`)")
    named = (name for _, *sides in rules for side in sides for _, _, name in side)
    known = dict.fromkeys(named if places is None else places)
    place_of = {name: place for place, name in enumerate(known)}
    transition_of = {name: t for t, (name, *_) in enumerate(rules)}
    problems += _unknown(rules, chains, marking or {}, place_of, transition_of)
    if problems:
        raise ValueError("\n".join(problems))
    names, numbered = [name for name, *_ in rules], Numbered("t", len(rules))
    arcs: dict[str, list[tuple[int, int, int]]] = {"": [], "!": [], "?": [], "->": []}
    for transition, (_, inputs, outputs) in enumerate(rules):
        for kind, weight, name in inputs:
            arcs[kind].append((place_of[name], transition, weight))
        arcs["->"] += [(place_of[name], transition, weight) for _, weight, name in outputs]
    return SleptsovNet(
        [(marking or {}).get(name, 0) for name in known],
        inputs=Arcs.of(arcs[""]),
        outputs=Arcs.of(arcs["->"]),
        inhibitors=Arcs.of(arcs["!"]),
        tests=Arcs.of(arcs["?"]),
        priorities=[
            (transition_of[a], transition_of[b])
            for _, chain in chains
            for a, b in zip(chain, chain[1:], strict=False)
        ],
        num_transitions=len(rules),
        place_names=places if isinstance(places, Numbered) else tuple(known),
        transition_names=numbered if list(numbered) == names else names,
        rule=rule,
    )


def text_of_net(net: SleptsovNet) -> str:
    """The first transitions of a net in the notation of `net_of_text`, the first priorities, and
    the places that hold tokens."""
    rows = ((f"{net.transition_name(t)}:", _rule_of(net, t)) for t in range(net.num_transitions))
    pairs = (" > ".join(map(net.transition_name, pair)) for pair in net.priorities.tolist())
    marked = np.flatnonzero(net.marking)
    tokens = (f"{net.place_name(p)} {net.marking[p]:,}" for p in marked.tolist())
    sets = {"priorities": (pairs, len(net.priorities)), "marking": (tokens, len(marked))}
    lines = table_lines(rows, net.num_transitions, "transition")
    return "\n".join([repr(net), *lines, *set_lines(**sets)])


def _rule_of(net: SleptsovNet, transition: int) -> str:
    kinds = ((net.inputs, ""), (net.inhibitors, "!"), (net.tests, "?"))
    needs = (term for arcs, sign in kinds for term in _terms_of(net, arcs, transition, sign))
    return " ".join([*needs, "->", *_terms_of(net, net.outputs, transition)])


def _terms_of(net: SleptsovNet, arcs: Arcs, transition: int, sign: str = "") -> Iterator[str]:
    start, stop = np.searchsorted(arcs.transition, [transition, transition + 1])
    own = slice(start, min(stop, start + _MAX_TERMS))
    for place, weight in zip(arcs.place[own].tolist(), arcs.weight[own].tolist(), strict=True):
        yield f"{sign}{weight if weight != 1 else ''}{net.place_name(place)}"


def _terms(side: str) -> list[tuple[str, int, str]] | str:
    """The kind, weight and place of each term of a side, or what is wrong with it."""
    terms = []
    for word in side.split():
        match = _TERM.fullmatch(word)
        if not match:
            return f"{word!r} (write a name, 2name, !name or ?2name)"
        kind, weight, name = match.groups()
        terms.append((kind, int(weight or 1), name))
    return terms


def _unknown(
    rules: Sequence[tuple],
    chains: Iterable[tuple[int, Sequence[str]]],
    marking: Mapping[str, int],
    place_of: Mapping[str, int],
    transition_of: Mapping[str, int],
) -> list[str]:
    problems = []
    if len(transition_of) < len(rules):
        problems.append("two transitions have one name (give each its own)")
    for name, _, outputs in rules:
        for kind, _, place in outputs:
            if kind:
                problems.append(
                    f"transition {name}: {kind}{place} is among the outputs (remove it)"
                )
    used = {place for _, *sides in rules for side in sides for _, _, place in side}
    for place in sorted(used - set(place_of)):
        problems.append(f"there is no place {place!r} (name it in `places`)")
    for place in sorted(set(marking) - set(place_of) - used):
        near = nearest(place, list(place_of), "places")
        problem = f"`marking`: there is no place {place!r}"
        problems.append(f"{problem} ({near}; to add one without arcs, list all in `places`)")
    for number, chain in chains:
        for name in chain:
            if name not in transition_of:
                problems.append(f"line {number}: there is no transition {name!r}")
    return problems
