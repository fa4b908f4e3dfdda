"""What can be proved of all computations of a system."""

from .check import check as check
from .errors import QueryError as QueryError
from .names import Needs as Needs, needs_of as needs_of
from .query import parse_query as parse_query
from .verdict import Status as Status, Verdict as Verdict
