"""Writing a program as a net: sub-nets placed one after the other, or side by side.

A part of a program runs between two control places, both holding a token at rest. Emptying the
first starts the part, which refills it; it empties the second when it is done. So the second of one
part is the first of the next.
"""

import warnings
from collections.abc import Sequence

from .._text.counts import plural
from .._text.model_warning import ModelWarning
from .linking import HighNet, Substitution, link
from .model.arcs import Arcs
from .model.net import SleptsovNet
from .sizes import MAX_FLAT_SIZE
from .subnets import SubNet, add, mul


class Composition:
    """A program that is being written: places for data and control, and what runs between them.

    ```python
    program = Composition()
    a, b, c = program.data(6), program.data(7), program.data(8)
    product, result = program.data(), program.data()
    start, middle, finish = program.control(running=True), program.control(), program.control()
    program.mul(a, b, product, start, middle)
    program.add(product, c, result, middle, finish)
    net = program.link()                                  # 6 * 7 + 8 will stand in `result`
    ```

    Places and transitions are numbers in order of creation, as they are in the linked net. Data are
    copied into a sub-net, so that inputs keep their values.
    """

    def __init__(self) -> None:
        self._marking: list[int] = []
        self._place_names: list[str] = []
        self._transition_names: list[str] = []
        self._inputs: list[tuple[int, int, int]] = []
        self._outputs: list[tuple[int, int, int]] = []
        self._inhibitors: list[tuple[int, int, int]] = []
        self._priorities: list[tuple[int, int]] = []
        self._substitutions: list[Substitution] = []
        self._is_named = False

    def data(self, tokens: int = 0, *, name: str | None = None) -> int:
        """Add a place for a number.

        **Arguments:**

        - `tokens`: its initial value.
        - `name`: its name; by default `p` and its number.

        **Returns:** the place.
        """
        self._is_named |= name is not None
        self._marking.append(tokens)
        self._place_names.append(name or f"p{len(self._marking)}")
        return len(self._marking) - 1

    def control(self, *, running: bool = False, name: str | None = None) -> int:
        """Add a control place, which holds a token at rest.

        **Arguments:**

        - `running`: whether the program starts from this place, which is empty then.
        - `name`: its name; by default `p` and its number.

        **Returns:** the place.
        """
        return self.data(0 if running else 1, name=name)

    def transition(
        self,
        inputs: Sequence[int] = (),
        outputs: Sequence[int] = (),
        inhibitors: Sequence[int] = (),
        *,
        name: str | None = None,
    ) -> int:
        """Add a plain transition.

        **Arguments:**

        - `inputs`, `outputs`: places; the multiplicity of an arc is the number of times that its
          place is listed.
        - `inhibitors`: places that must be empty.
        - `name`: its name; by default `t` and its number.

        **Returns:** the transition.
        """
        self._is_named |= name is not None
        self._transition_names.append(name or f"t{len(self._transition_names) + 1}")
        transition = len(self._transition_names) - 1
        for places, arcs in ((inputs, self._inputs), (outputs, self._outputs)):
            arcs += [(place, transition, places.count(place)) for place in dict.fromkeys(places)]
        self._inhibitors += [(place, transition, 1) for place in dict.fromkeys(inhibitors)]
        return transition

    def priority(self, *transitions: int) -> None:
        """Each of these plain transitions has priority over the next."""
        self._priorities += zip(transitions, transitions[1:], strict=False)

    def step(self, start: int, finish: int, *, name: str | None = None) -> int:
        """Add a transition that only passes control on.

        **Arguments:**

        - `start`, `finish`: control places.
        - `name`: its name; by default `t` and its number.

        **Returns:** the transition.
        """
        return self.transition([finish], [start], [start], name=name)

    def call(
        self,
        subnet: SubNet,
        inputs: Sequence[int],
        output: int,
        start: int,
        finish: int,
        *,
        name: str = "",
    ) -> int:
        """Run a sub-net between two control places.

        **Arguments:**

        - `subnet`: the sub-net.
        - `inputs`: the places whose values are copied to its inputs; each keeps its own.
        - `output`: the place that is cleared and takes the result. It may be one of the inputs.
        - `start`, `finish`: control places.
        - `name`: the name of its file in an HSN file.

        **Returns:** the transition that stands for the sub-net.

        **Raises:** `ValueError` unless there is a different place for each input: concurrent copies
        of one place would take tokens from each other.
        """
        if len(inputs) != len(subnet.inputs):
            raise ValueError(
                f"The sub-net takes {plural(len(subnet.inputs), 'input')}, not {len(inputs)}."
            )
        if len(set(inputs)) < len(inputs):
            raise ValueError(
                f"A place is given twice among the inputs {[p + 1 for p in inputs]}: its copies "
                "would take tokens from each other. Copy the value to a place of its own first."
            )
        # The data arcs are a picture for readers: linking drops them.
        transition = self.transition([finish, *inputs], [start, output], [start])
        self._substitutions.append(
            Substitution(
                transition,
                subnet.net,
                tuple(zip(inputs, subnet.inputs, strict=True)),
                (output, subnet.output),
                (start, subnet.start),
                (finish, subnet.finish),
                name,
            )
        )
        return transition

    def add(self, a: int, b: int, output: int, start: int, finish: int) -> int:
        """Add two numbers: `output` := `a` + `b`.

        **Arguments:**

        - `a`, `b`: places of the numbers, which they keep.
        - `output`: the place that takes the sum.
        - `start`, `finish`: control places.

        **Returns:** the transition that stands for the sub-net.
        """
        return self.call(add(), (a, b), output, start, finish, name="add.lsn")

    def mul(self, a: int, b: int, output: int, start: int, finish: int) -> int:
        """Multiply two numbers: `output` := `a` * `b`.

        **Arguments:**

        - `a`, `b`: places of the numbers, which they keep.
        - `output`: the place that takes the product.
        - `start`, `finish`: control places.

        **Returns:** the transition that stands for the sub-net.
        """
        return self.call(mul(), (a, b), output, start, finish, name="mul.lsn")

    def fork(self, start: int, starts: Sequence[int], *, name: str | None = None) -> int:
        """Start several parts of the program at once.

        They must not share data: even a value that two parts only read disappears while one of them
        copies it.

        **Arguments:**

        - `start`: the control place before the fork.
        - `starts`: the control places from which the parts start.
        - `name`: the name of the transition; by default `t` and its number.

        **Returns:** the transition.
        """
        return self.transition(starts, [start], [start], name=name)

    def join(self, finishes: Sequence[int], finish: int, *, name: str | None = None) -> int:
        """Continue when several parts of the program are done.

        **Arguments:**

        - `finishes`: the control places at which the parts end.
        - `finish`: the control place after the join.
        - `name`: the name of the transition; by default `t` and its number.

        **Returns:** the transition.
        """
        return self.transition([finish], finishes, finishes, name=name)

    def high_net(self) -> HighNet:
        """The program with its sub-nets as transitions."""
        with warnings.catch_warnings():
            # A start that nothing empties is not a mistake: the user may do it.
            warnings.simplefilter("ignore", ModelWarning)
            net = SleptsovNet(
                self._marking,
                inputs=Arcs.of(self._inputs),
                outputs=Arcs.of(self._outputs),
                inhibitors=Arcs.of(self._inhibitors),
                priorities=self._priorities,
                num_transitions=len(self._transition_names),
                place_names=self._place_names if self._is_named else None,
                transition_names=self._transition_names if self._is_named else None,
            )
        return HighNet(net, tuple(self._substitutions))

    def link(self, *, max_flat_size: int = MAX_FLAT_SIZE) -> SleptsovNet:
        """The program as one flat net, see `snpjax.sleptsov.link`."""
        return link(self.high_net(), max_flat_size=max_flat_size)
