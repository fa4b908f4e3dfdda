"""Model files: `read` gives a validated system, `write` a file that can be read again."""

from typing import TYPE_CHECKING

from snpjax_formats.lazy import lazily


if TYPE_CHECKING:
    from ..spiking.model.validity import Level as Level
    from .errors import ReadError as ReadError, ReadWarning as ReadWarning
    from .formats import (
        Format as Format,
        GraphFormat as GraphFormat,
        NetFormat as NetFormat,
        SystemFormat as SystemFormat,
        formats_of as formats_of,
    )
    from .graph_export import to_dot as to_dot, to_networkx as to_networkx
    from .losses import Losses as Losses, WriteError as WriteError, WriteWarning as WriteWarning
    from .native import native_schema as native_schema
    from .numerical import read_numerical as read_numerical
    from .print_numerical import write_numerical as write_numerical
    from .read import (
        model_text as model_text,
        read as read,
        read_net as read_net,
        write as write,
        write_net as write_net,
    )
    from .source import Report as Report, Source as Source, decoded as decoded, load as load
    from .write_graph import write_graph as write_graph

lazily(
    __name__,
    {
        "..spiking.model.validity": "Level",
        ".errors": "ReadError ReadWarning",
        ".formats": "Format GraphFormat NetFormat SystemFormat formats_of",
        ".graph_export": "to_dot to_networkx",
        ".losses": "Losses WriteError WriteWarning",
        ".native": "native_schema",
        ".numerical": "read_numerical",
        ".print_numerical": "write_numerical",
        ".read": "model_text read read_net write write_net",
        ".source": "Report Source decoded load",
        ".write_graph": "write_graph",
    },
)
