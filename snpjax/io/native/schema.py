"""The JSON Schema of the native format, for editors and other programs."""

import json
from importlib.resources import files
from typing import Any


def native_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of native model files.

    What a schema cannot say (names that exist, guards that parse, validity levels) is checked by
    `snpjax.read`.
    """
    return json.loads(files("snpjax.io.native").joinpath("schema.json").read_text("utf-8"))
