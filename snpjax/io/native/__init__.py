"""The native format: JSON that holds everything a system has, with a version."""

from .read import read_native as read_native
from .schema import native_schema as native_schema
from .write import write_native as write_native
