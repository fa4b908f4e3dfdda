"""The page as a widget of a notebook: the module needs anywidget."""

import weakref
from typing import Any

import anywidget
import traitlets

from ...sleptsov import SleptsovNet
from ...spiking import PopulationSystem, SpikingSystem
from .assets import asset, framed_page
from .session import Answer, Outcome, new_session
from .stepping import Refused
from .texts import FileModel, check_size


_LEAST_HEIGHT, _MOST_HEIGHT = 200, 4000
_CSS = """.snpjax-page {
  box-sizing: border-box; width: 100%; border: 1px solid #8884; border-radius: 8px;
}"""


class _Model(traitlets.TraitType[FileModel, FileModel]):
    """A system or net that can be drawn."""

    def validate(self, obj: Any, value: Any) -> FileModel:
        """**Raises:** `TypeError`, and `ReadError` for a system that is too large to be drawn."""
        del obj
        if not isinstance(value, SpikingSystem | PopulationSystem | SleptsovNet):
            raise TypeError(
                f"`system` is a {type(value).__name__}. Give a SpikingSystem, a PopulationSystem "
                "or a SleptsovNet."
            )
        check_size(value.name or "the system", value)
        return value


class PageWidget(anywidget.AnyWidget):
    """The interactive page in a notebook, as `snpjax.view` makes it.

    The page runs in a frame of its own origin, and asks its `Session` by messages of the widget.
    `system` is the system that it shows: edits in the page set it, and setting it updates the page.
    """

    _esm = asset("notebook.js").decode()
    _css = _CSS
    _page = traitlets.Unicode().tag(sync=True)
    _height = traitlets.Int().tag(sync=True)
    system = _Model()

    def __init__(self, system: FileModel, *, height: int = 640):
        if isinstance(height, bool) or not isinstance(height, int):
            raise TypeError(f"`height` is {height!r}. Give a number of pixels.")
        if not _LEAST_HEIGHT <= height <= _MOST_HEIGHT:
            raise ValueError(
                f"`height` is {height}. Give {_LEAST_HEIGHT} to {_MOST_HEIGHT:,} pixels."
            )
        self._session = new_session()
        self._is_told = False  # whether the page knows a system that is being set
        super().__init__(_page=framed_page(), _height=height, system=system)
        self.on_msg(self._receive)
        self.observe(self._push, "system")
        # JAX must not compile while the interpreter ends.
        weakref.finalize(self, self._session.close)

    def _push(self, change: Any) -> None:
        """Show a system that Python has set."""
        del change
        if not self._is_told:
            self.send({"show": self._show()})

    def _show(self) -> Answer:
        system = self.system
        self._session.level = system.level if isinstance(system, SpikingSystem) else "extended"
        return self._session.show(system)

    def _receive(self, widget: Any, content: Any, buffers: Any) -> None:
        """Answer a message of a page, which names its view and the number of its question."""
        del widget, buffers
        if not isinstance(content, dict) or not isinstance(content.get("question"), dict):
            return
        view, call, question = content.get("view"), content.get("call"), content["question"]
        failure = None
        try:
            answer, outcome = self._reply(f"{call}", question, view)
        except Exception as error:  # of an observer of `system`, or of a system that is not drawn
            answer, outcome, failure = {"refused": f"{error}"}, "failed", error
        body = {"answer": answer} if outcome == "answered" else answer
        self.send({"view": view, "id": content.get("id"), **body})
        if failure is not None:
            raise failure

    def _reply(self, call: str, question: Answer, view: Any) -> tuple[Answer, Outcome]:
        if call == "shown":
            return self._take(question, view)
        answer, outcome = self._session.reply(call, question)
        return (answer | self._show() if call == "begin" else answer), outcome

    def _take(self, question: Answer, view: Any) -> tuple[Answer, Outcome]:
        """Take the system that a page shows, and let other views of the widget show it, too."""
        try:
            system, answer = self._session.opened(question)
        except Refused as error:
            return {"refused": f"{error}"}, "refused"
        if system is not self.system:
            self._is_told = True
            try:
                self.system = system
            finally:
                self._is_told = False
                self.send({"except": view, "show": answer})
        return {}, "answered"
