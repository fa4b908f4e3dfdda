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
        """A place for a number; by default it has no value yet, and is named p and its number."""
        self._is_named |= name is not None
        self._marking.append(tokens)
        self._place_names.append(name or f"p{len(self._marking)}")
        return len(self._marking) - 1

    def control(self, *, running: bool = False, name: str | None = None) -> int:
        """A control place. It holds a token at rest; that from which the program starts does
        not."""
        return self.data(0 if running else 1, name=name)

    def transition(
        self,
        inputs: Sequence[int] = (),
        outputs: Sequence[int] = (),
        inhibitors: Sequence[int] = (),
        *,
        name: str | None = None,
    ) -> int:
        """A plain transition, with arcs of multiplicity 1; a place that is there k times has an
        arc of multiplicity k."""
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
        """A transition that does nothing between two control places."""
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

        - `inputs`: the places whose values are copied in; each keeps its own.
        - `output`: the place that is cleared and takes the result. It may be one of the inputs.
        - `name`: the file that an HSN file names for it.

        **Returns:** the transition that stands for the sub-net.

        **Raises:** `ValueError` when the inputs are not as many places, all different: copies of
        one place that run at once take tokens from each other.
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
        """`output` := a + b."""
        return self.call(add(), (a, b), output, start, finish, name="add.lsn")

    def mul(self, a: int, b: int, output: int, start: int, finish: int) -> int:
        """`output` := a * b."""
        return self.call(mul(), (a, b), output, start, finish, name="mul.lsn")

    def fork(self, start: int, starts: Sequence[int], *, name: str | None = None) -> int:
        """Start several parts at once. They must not use data of each other: even a value that two
        parts only read is taken away while it is copied."""
        return self.transition(starts, [start], [start], name=name)

    def join(self, finishes: Sequence[int], finish: int, *, name: str | None = None) -> int:
        """Go on when several parts are done."""
        return self.transition([finish], finishes, finishes, name=name)

    def high_net(self) -> HighNet:
        """The program with its sub-nets as transitions."""
        with warnings.catch_warnings():
            # A start that nothing empties is no mistake: the user may do it.
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
