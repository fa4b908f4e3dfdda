"""Model files: `read` gives a validated system, `write` a file that can be read again."""

from .errors import ReadError as ReadError, ReadWarning as ReadWarning
from .read import read as read, write as write
