"""The server of the page: on the loopback address only, for those who know its token."""

import json
import os
import re
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from ...io.source import MAX_FILE_BYTES
from .assets import ASSETS, INDEX, asset
from .session import Session
from .stepping import Refused


ADDRESS = "127.0.0.1"
_NAMES = (ADDRESS, "localhost")

#: A question holds a file as JSON, which at most doubles it.
_MAX_QUESTION = 2 * MAX_FILE_BYTES
_MAX_SKIPPED = 2**16

#: Nothing is loaded from anywhere else, nothing of the page is run or styled inside the HTML, and
#: no other page may show this one in a frame. Pictures are made in the page.
POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class PageServer(ThreadingHTTPServer):
    """Serves one session. `url` is the address to open, which holds the token.

    **Arguments:**

    - `port`: 0 takes a free one.

    **Raises:** `OSError` if the port is in use.
    """

    daemon_threads = True
    # Where it does not mean to take over the port of another server, it means to be started again.
    allow_reuse_address = os.name == "posix"

    def __init__(self, session: Session, *, port: int = 0):
        self.session = session
        self.token = secrets.token_urlsafe(24)
        ThreadingHTTPServer.__init__(self, (ADDRESS, port), _Handler)

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    def server_close(self) -> None:
        """Give the port back, and wait for what is being computed."""
        ThreadingHTTPServer.server_close(self)
        self.session.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away is no error; handlers answer all others themselves."""
        del request, client_address


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "snpjax", ""
    timeout = 120  # of an idle connection, in seconds

    def do_GET(self) -> None:
        path = self._allowed_path()
        if path is None:
            return
        name = path or INDEX
        if name not in ASSETS:
            return self._refuse(HTTPStatus.NOT_FOUND, "There is no such file.")
        self._send(HTTPStatus.OK, ASSETS[name], asset(name))

    def do_POST(self) -> None:
        path = self._allowed_path()
        if path is None:
            return self._skip_body()
        question = self._question()
        folder, _, call = path.partition("/")
        if folder != "api" or question is None:
            return self._refuse(HTTPStatus.BAD_REQUEST, "This is no question of the page.")
        try:
            answer, status = self._page.session.answer(call, question), HTTPStatus.OK
        except Refused as error:
            answer, status = {"refused": f"{error}"}, HTTPStatus.CONFLICT
        except Exception as error:  # the page shows it; the server lives on
            message = (
                f"{type(error).__name__}: {error}. This is a bug of snpjax; please report it "
                "with the model."
            )
            answer, status = {"refused": message}, HTTPStatus.INTERNAL_SERVER_ERROR
        self._send(status, "application/json", json.dumps(answer).encode())

    @property
    def _page(self) -> PageServer:
        return cast(PageServer, self.server)

    def _question(self) -> dict[str, Any] | None:
        """The object in the body, or `None` if there is none."""
        length = self._length()
        if length is None or length > _MAX_QUESTION:
            self.close_connection = True
            return None
        body = self.rfile.read(length)
        # Forms of other pages cannot send this type without asking first.
        if self.headers.get("Content-Type") != "application/json":
            return None
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def _skip_body(self) -> None:
        """Read what a stranger sends, if it is short: a connection that is closed before that may
        lose the answer."""
        self.close_connection = True
        length = self._length()
        if length is not None and length <= _MAX_SKIPPED:
            self.rfile.read(length)

    def _length(self) -> int | None:
        """Of the body in bytes, if it is said."""
        text = self.headers.get("Content-Length", "")
        return int(text) if re.fullmatch("[0-9]{1,18}", text) else None

    def _allowed_path(self) -> str | None:
        """What follows the token; a request that is not of our page is refused."""
        port = self._page.server_port
        hosts = {f"{name}:{port}" for name in _NAMES}
        # A name of somebody else that leads to this address has another `Host`.
        if self.headers.get("Host") not in hosts:
            return self._refuse(HTTPStatus.FORBIDDEN, "This server has another name.")
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in hosts}:
            return self._refuse(HTTPStatus.FORBIDDEN, "Another page asks.")
        _, _, rest = self.path.partition("?")[0].partition("/")
        token, slash, path = rest.partition("/")
        if not slash or not secrets.compare_digest(token.encode(), self._page.token.encode()):
            message = "The token is wrong. Open the address that `snpjax view` printed."
            return self._refuse(HTTPStatus.FORBIDDEN, message)
        return path

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        self._send(status, "text/plain; charset=utf-8", f"{message}\n".encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        try:
            self.send_response(status)
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", f"{len(body)}")
            self.end_headers()
            self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: addresses hold the token."""
        del format, args
