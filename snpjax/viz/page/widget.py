"""The page as a widget of a notebook: the module needs anywidget."""

import threading
import weakref
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import anywidget
import traitlets

from snpjax_formats.articles import kind_of

from ...sleptsov import SleptsovNet
from ...spiking import PopulationSystem, SpikingSystem
from .arguments import Refused
from .assets import asset, framed_page
from .session import Answer, Outcome, Session, new_session
from .texts import FileModel, OpenedModel, opened_system


_LEAST_HEIGHT, _MOST_HEIGHT = 200, 4000
#: Views that are kept: those of a notebook that was closed or loaded again do not say so.
_MOST_VIEWS = 32
_CSS = """.snpjax-page {
  box-sizing: border-box; width: 100%; border: 1px solid #8884; border-radius: 8px;
}"""


class _Model(traitlets.TraitType[FileModel, FileModel]):
    """A system or net that can be drawn."""

    def validate(self, obj: Any, value: Any) -> FileModel:
        """**Raises:** `TypeError`, and `ReadError` for a system that cannot be drawn."""
        if not isinstance(value, SpikingSystem | PopulationSystem | SleptsovNet):
            raise TypeError(
                f"`system` is {kind_of(value)}. Give a SpikingSystem, a PopulationSystem "
                "or a SleptsovNet."
            )
        obj._open_model(value)
        return value

    def set(self, obj: Any, value: Any) -> None:
        """Set and show a system. Unlike in other traits, one that is equal to that before it is
        set, too: its positions may differ, which are not compared."""
        with obj._sharing:  # notebooks may answer the page in a thread of its own
            before, new = obj._trait_values.get(self.name), self._validate(obj, value)
            obj._trait_values[self.name] = new
            if new is not before:
                obj._notify_trait(self.name, before, new)


@dataclass
class _View:
    """One place in which a widget is displayed. Its steps and edits are its own.

    - `revision`: of the latest system that it was sent: an edit is of that one, or too late.
    """

    session: Session
    revision: int


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
        self._sharing = threading.RLock()
        self._views: OrderedDict[str, _View] = OrderedDict()
        self._found: OpenedModel | None = None
        self._is_edited = False
        self._editor: _View | None = None  # which shows the system that is being set
        self._revision = 0  # how often the system was set
        super().__init__(_page=framed_page(), _height=height, system=system)
        self.on_msg(self._receive)
        self.observe(self._push, "system")
        # JAX must not compile while the interpreter ends.
        weakref.finalize(self, _close, self._views)

    def _open_model(self, system: FileModel) -> OpenedModel:
        """The system as the page opens it.

        **Raises:** `ReadError` for one that cannot be drawn.
        """
        if self._found is None or self._found.original is not system:
            self._found, self._is_edited = opened_system(system), False
        return self._found

    def _push(self, change: Any) -> None:
        """Show a system that was set in all views but the one in which it was edited."""
        del change
        editor, self._editor = self._editor, None  # observers may set another one
        self._revision += 1
        for name, view in self._views.items():
            if view is not editor:
                self._show(name, view)

    def _show(self, name: str, view: _View) -> None:
        self.send({"view": name, "show": self._opened(view), "revision": view.revision})

    def _opened(self, view: _View) -> Answer:
        system, view.revision = self.system, self._revision
        view.session.level = system.level if isinstance(system, SpikingSystem) else "extended"
        return view.session.show(self._open_model(system), is_edited=self._is_edited)

    def _receive(self, widget: Any, content: Any, buffers: Any) -> None:
        """Answer a message of a page, which names its view and the number of its question."""
        del widget, buffers
        if not isinstance(content, dict) or not isinstance(content.get("question"), dict):
            return
        view, call, question = content.get("view"), content.get("call"), content["question"]
        if not isinstance(view, str):
            return
        failure = None
        try:
            answer, outcome = self._reply(f"{call}", question, view)
        except Exception as error:  # of an observer of `system`, or of a system that is not drawn
            answer, outcome, failure = {"refused": f"{error}"}, "failed", error
        body = {"answer": answer} if outcome == "answered" else answer
        self.send({"view": view, "id": content.get("id"), **body})
        if failure is not None:
            raise failure

    def _reply(self, call: str, question: Answer, name: str) -> tuple[Answer, Outcome]:
        if call == "end":
            with self._sharing:
                ended = self._views.pop(name, None)
            if ended is not None:
                ended.session.close()
            return {}, "answered"
        if call == "begin":
            return self._begin(name)
        with self._sharing:
            view = self._views.get(name)
            if view is None:
                return {"refused": "This view was closed. Run its cell again."}, "refused"
            self._views.move_to_end(name)
            if call == "shown":
                return self._take(question, name, view)
        return view.session.reply(call, question)

    def _begin(self, name: str) -> tuple[Answer, Outcome]:
        with self._sharing:
            view = self._views[name] = _View(new_session(), self._revision)
            while len(self._views) > _MOST_VIEWS:
                self._views.popitem(last=False)[1].session.close()
            answer, outcome = view.session.reply("begin", {})
            return answer | self._opened(view) | {"revision": view.revision}, outcome

    def _take(self, question: Answer, name: str, view: _View) -> tuple[Answer, Outcome]:
        """Take the system that a page shows, and let other views of the widget show it, too."""
        if question.get("revision") != view.revision:
            self._show(name, view)  # once more: the page may have missed it
            return {"refused": "Another system was shown meanwhile."}, "refused"
        try:
            found, is_edited = view.session.opened(question)
        except Refused as error:
            return {"refused": f"{error}"}, "refused"
        if found.original is not self.system:
            self._found, self._is_edited, self._editor = found, is_edited, view
            try:
                self.system = found.original
            finally:
                self._editor = None
        return {}, "answered"


def _close(views: OrderedDict[str, _View]) -> None:
    for view in views.values():
        view.session.close()
