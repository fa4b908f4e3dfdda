"""Families of SN P systems: groups of n neurons with identical rules, and links between groups."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from ..._text.nearest import nearest
from ...spiking.model.rule import Rule
from ...spiking.model.system import Neuron, SpikingSystem


Shape: TypeAlias = Literal["ring", "next", "each", "all"]


@dataclass(frozen=True)
class Group:
    """Neurons `name1`, ..., `namen` with the same rules, or with `single` one neuron `name`.

    - `spikes`: initially, in each.
    - `first`: initially, in `name1`, if that is another number.
    """

    name: str
    rules: tuple[Rule | str, ...] = ()
    spikes: int = 0
    first: int | None = None
    single: bool = False

    def __init__(
        self,
        name: str,
        rules: Sequence[Rule | str] = (),
        spikes: int = 0,
        first: int | None = None,
        single: bool = False,
    ) -> None:
        if not name.isidentifier() or name[-1].isdigit():
            raise ValueError(f"The group {name!r} is no word that ends in a letter.")
        rules = (rules,) if isinstance(rules, str) else tuple(rules)
        # The rules are those of a neuron; building one reports what is wrong with them.
        both = [Neuron(name, spikes, rules), Neuron(f"{name}1", first or 0)]
        neuron, _ = SpikingSystem(both).neurons
        for rule in neuron.rules:
            if not isinstance(rule, Rule):
                raise ValueError(f"Group {name!r} has the rule {rule}, which changes the network.")
        for attribute, value in {
            **{"name": name, "rules": neuron.rules, "spikes": spikes},
            **{"first": None if single else first, "single": single},
        }.items():
            object.__setattr__(self, attribute, value)

    def names(self, size: int) -> list[str]:
        return [self.name] if self.single else [f"{self.name}{i}" for i in range(1, size + 1)]

    @property
    def leader(self) -> int:
        """The initial spikes of the first neuron."""
        return self.spikes if self.first is None else self.first

    @property
    def own_rules(self) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if isinstance(rule, Rule))

    @property
    def closes(self) -> bool:
        """Whether its neurons have delays."""
        return any(rule.delay for rule in self.own_rules)


@dataclass(frozen=True)
class Wiring:
    """Synapses between two groups.

    - `shape`: `"ring"`: from each neuron to the next one of the group, and from the last to the
      first; `"next"`: the same without the last; `"each"`: from each neuron to that with its number
      in another group; `"all"`: from every neuron to every other.
    - `weight`: of each synapse, 1 or more.
    """

    source: str
    target: str
    shape: Shape
    weight: int = 1


@dataclass(frozen=True)
class Family:
    """SN P systems of any size n from 2 on: `family(n)` is the system of size n.

    **Arguments:**

    - `groups`: each with n neurons, or a single one.
    - `links`: at most one from a group to another, or to itself.

    ```python
    cells = snp.Group("cell", ["a -> a"], first=1)
    ring = snp.Family([cells], [snp.Wiring("cell", "cell", "ring")])
    assert ring(3).num_neurons == 3
    ```

    **Raises:** `ValueError` for links between unknown groups, and links that have no meaning.
    """

    groups: tuple[Group, ...]
    links: tuple[Wiring, ...]

    def __init__(self, groups: Sequence[Group], links: Sequence[Wiring] = ()) -> None:
        object.__setattr__(self, "groups", tuple(groups))
        object.__setattr__(self, "links", tuple(links))
        known = [group.name for group in groups]
        if len(set(known)) < len(known):
            raise ValueError(f"Two of the groups {known} have one name.")
        pairs = [(link.source, link.target) for link in links]
        for link in links:
            for name in (link.source, link.target):
                if name not in known:
                    raise ValueError(f"{link}: there is no group {name!r} ({_near(name, known)}).")
            problem = self._problem(link, pairs)
            if problem:
                raise ValueError(f"{link}: {problem}.")

    def _problem(self, link: Wiring, pairs: list[tuple[str, str]]) -> str:
        source, target = self.group(link.source), self.group(link.target)
        if link.shape not in get_args(Shape):
            return f"the shape is none of {get_args(Shape)}"
        if type(link.weight) is not int or link.weight < 1:
            return "the weight is no positive integer"
        if pairs.count((link.source, link.target)) > 1:
            return "there is another link between these groups"
        is_loop = link.source == link.target
        if link.shape in ("ring", "next") and (not is_loop or source.single):
            return f"the shape {link.shape!r} is for the neurons of one group"
        if link.shape == "each" and (is_loop or source.single or target.single):
            return "the shape 'each' is for two groups of n neurons"
        if link.shape == "all" and is_loop and source.single:
            return "a single neuron has no synapse to itself"
        return ""

    def group(self, name: str) -> Group:
        (found,) = (group for group in self.groups if group.name == name)
        return found

    def __call__(self, size: int) -> SpikingSystem:
        """The system of a size.

        **Raises:** `ValueError` for a size below 2.
        """
        if size < 2:
            raise ValueError(f"The size is {size}. Give 2 or more.")
        neurons = [
            Neuron(name, group.leader if i == 0 else group.spikes, group.rules)
            for group in self.groups
            for i, name in enumerate(group.names(size))
        ]
        return SpikingSystem(neurons, list(self._synapses(size)), name=f"size {size}")

    def _synapses(self, size: int) -> Iterator[tuple[str, str, int]]:
        for link in self.links:
            source, target = (self.group(x).names(size) for x in (link.source, link.target))
            pairs: Iterable[tuple[str, str]]
            match link.shape:
                case "ring":
                    pairs = zip(source, [*target[1:], target[0]], strict=True)
                case "next":
                    pairs = zip(source, target[1:], strict=False)
                case "each":
                    pairs = zip(source, target, strict=True)
                case "all":
                    pairs = ((x, y) for x in source for y in target if x != y)
            yield from ((x, y, link.weight) for x, y in pairs)


def _near(name: str, known: Sequence[str]) -> str:
    return nearest(name, known, "groups")
