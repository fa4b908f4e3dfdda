"""Notes of a system as files hold them."""

import json

from .losses import Losses


def note_text(name: str, note: object, losses: Losses) -> str | None:
    """A note as JSON; if it is none, that is a loss."""
    try:
        return json.dumps(note, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:  # ValueError: NaN, or a circle
        losses.add(f"note {name!r}, which is no JSON: {error}", "left out")
        return None
