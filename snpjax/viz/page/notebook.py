"""The page in a notebook."""

from typing import TYPE_CHECKING

from ..._text.optional import anywidget
from .texts import FileModel


if TYPE_CHECKING:
    from .widget import PageWidget


def view(system: FileModel, *, height: int = 640) -> "PageWidget":
    """Draw, step and edit a system or net in a notebook.

    **Arguments:**

    - `system`: a system, which may be of populations, or a net.
    - `height`: of the widget in pixels, from 200 to 4,000.

    **Returns:** a widget, which a notebook displays. Its `system` is the system as it was edited in
    the page: read it, observe it (`widget.observe(function, "system")`), or set it to show another
    one.

    **Raises:** `ImportError` if anywidget is not installed, `ReadError` for a system that is too
    large to be drawn, `TypeError` and `ValueError` for other wrong arguments.
    """
    anywidget()
    from .widget import PageWidget

    return PageWidget(system, height=height)
