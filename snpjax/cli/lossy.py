"""Writing a file that may not hold everything."""

import warnings
from collections.abc import Callable


def losses_of(write: Callable[..., None], *, lossy: bool) -> tuple[str, ...]:
    """What was lost when a file was written, which `write(lossy=...)` does.

    **Raises:** `WriteError` if something would be lost and that is not allowed.
    """
    from ..io import WriteError, WriteWarning

    try:
        write()
        return ()
    except WriteError as error:
        if not lossy:
            raise
        losses = error.items
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WriteWarning)  # every loss is a line of its own
        write(lossy=True)
    return losses
