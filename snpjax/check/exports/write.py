"""What `write_graph` asks the writers of its formats for, and what they make."""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from jaxtyping import Bool
from numpy import ndarray

from ..._text.lines import EdgeLabels
from ...machine import SomeConfigurations


#: What holds in some configurations, see `Graph.where`.
Predicate: TypeAlias = Callable[[SomeConfigurations], Bool[ndarray, " configurations"]]
#: The files of a format, by suffix, in blocks of bytes. One file may have any suffix: `""`.
Files: TypeAlias = Mapping[str, Iterable[bytes]]


class ExportOptions(NamedTuple):
    """What `write_graph` was asked for, besides the graph."""

    labels: EdgeLabels
    predicates: Mapping[str, Predicate]
    chain: bool
    bounds: int | Mapping[str, int] | Literal["unbounded"] | None
