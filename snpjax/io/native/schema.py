"""The JSON Schema of the native format, for editors and other programs."""

from importlib.resources import files
from typing import Any

from snpjax_formats.strict_json import parse_json


def native_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of native model files.

    `snpjax.read` checks what a schema cannot express: names that exist, guards that parse, and
    validity at a level.

    **Returns:** the schema as a new dictionary.
    """
    return parse_json(files("snpjax.io.native").joinpath("schema.json").read_bytes())
