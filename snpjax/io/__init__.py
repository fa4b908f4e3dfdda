"""Model files: `read` gives a validated system, `write` a file that can be read again."""

from .dimacs import Formula as Formula, read_dimacs as read_dimacs
from .errors import ReadError as ReadError, ReadWarning as ReadWarning
from .formats import Format as Format
from .graph_export import to_dot as to_dot, to_networkx as to_networkx
from .losses import WriteError as WriteError, WriteWarning as WriteWarning
from .native import native_schema as native_schema
from .read import read as read, write as write
from .sleptsov import NetFormat as NetFormat, read_net as read_net, write_net as write_net
