"""The windows of an image that a convolution or a pooling reads."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Int

from snpjax_formats.arguments import as_integer


#: A number for every spatial axis, or one for all.
PerAxis: TypeAlias = int | Sequence[int]


class Windows(NamedTuple):
    """Windows along the axes of an image.

    - `size`: of the image.
    - `kernel`, `stride`, `dilation`: how many places a window has, how far apart neighbouring
      windows are, and how far apart the places of one.
    - `padding`: by how much the image is extended before and after each axis.
    """

    size: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]

    @property
    def spans(self) -> tuple[int, ...]:
        """How far a window reaches."""
        return tuple(1 + (k - 1) * d for k, d in zip(self.kernel, self.dilation, strict=True))

    @property
    def out_shape(self) -> tuple[int, ...]:
        """How many windows there are along each axis; less than 1 where none fits."""
        axes = zip(self.size, self.padding, self.spans, self.stride, strict=True)
        return tuple((n + sum(around) - span) // s + 1 for n, around, span, s in axes)

    def pairs(
        self,
    ) -> tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]:
        """Sources, the windows that read them, and at which place."""
        targets = np.indices(self.out_shape).reshape(len(self.size), -1, 1)
        places = np.indices(self.kernel).reshape(len(self.size), 1, -1)

        def along(numbers: Sequence[int]) -> Int[np.ndarray, "axes 1 1"]:
            return np.asarray(numbers)[:, None, None]

        first = along([before for before, _ in self.padding])
        at = targets * along(self.stride) - first + places * along(self.dilation)
        target, place = np.nonzero(((at >= 0) & (at < along(self.size))).all(axis=0))
        source = np.asarray(np.ravel_multi_index(tuple(at[:, target, place]), self.size))
        return source, target, place


def along_axes(name: str, number: PerAxis, size: tuple[int, ...], least: int) -> tuple[int, ...]:
    """A number for each axis of an image."""
    if len(size) not in (1, 2) or min(size) < 1:
        raise ValueError(f"`size` is {size}. Give (length,) or (rows, columns), of 1 or more.")
    numbers = [number] * len(size) if isinstance(number, int | np.integer) else number
    given = tuple(as_integer(name, n) for n in numbers)
    if len(given) != len(size) or min(given) < least:
        raise ValueError(
            f"`{name}` is {number}, and `size` has {len(size)} axes. Give a number of {least} or "
            "more, or one for each axis."
        )
    return given


def paddings(
    padding: Sequence[int] | Literal["same", "valid"],
    kernel: Sequence[int],
    dilation: Sequence[int],
) -> tuple[tuple[int, int], ...]:
    """The padding before and after each axis. `"same"` gives as many windows with a stride of 1 as
    the image has places, and the larger half is after it, as in PyTorch; `"valid"` is none."""
    if isinstance(padding, str) and padding not in ("same", "valid"):
        raise ValueError(f'`padding` is {padding!r}. Give a number, or "same".')
    if padding == "same":
        around = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        return tuple((total // 2, total - total // 2) for total in around)
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    return tuple((int(p), int(p)) for p in padding)
