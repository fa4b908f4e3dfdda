"""The server of the page: on the loopback address only, for those who know its token."""

import contextlib
import io
import json
import os
import re
import secrets
import socket
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from snpjax_formats.strict_json import JsonError, parse_json

from ...io.source import MAX_FILE_BYTES
from .assets import ASSETS, INDEX, asset
from .session import Session


ADDRESS = "127.0.0.1"
_NAMES = (ADDRESS, "localhost")

#: A question holds a file as JSON, which at most doubles it.
_MAX_QUESTION = 2 * MAX_FILE_BYTES
_MAX_SKIPPED = 2**16

#: Connections with the token that are served at once, more of which wait until one is closed; and
#: connections that have not shown it yet, the oldest of which is dropped for a new one.
MAX_CONNECTIONS = 64
#: Seconds for the next request line and header, and for a body or an answer.
_HEADER_SECONDS, _BODY_SECONDS = 10.0, 120.0
#: How often the server looks for a request to shut down while all connections are taken.

_STATUS = {
    "answered": HTTPStatus.OK,
    "refused": HTTPStatus.OK,  # browsers report every other status as an error
    "failed": HTTPStatus.INTERNAL_SERVER_ERROR,
}
_METHODS = "GET", "HEAD", "POST"
_CHARSETS = "utf-8", "utf8"

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

    - `port`: 0 selects a free one.

    **Raises:** `OSError` if the port is in use.
    """

    daemon_threads = True
    # Where it does not mean to take over the port of another server, it means to be started again.
    allow_reuse_address = os.name == "posix"
    request_queue_size = MAX_CONNECTIONS

    def __init__(self, session: Session, *, port: int = 0):
        self.session = session
        self.token = secrets.token_urlsafe(24)
        self._free = threading.Semaphore(MAX_CONNECTIONS)
        self._lock = threading.Lock()
        self._strangers: dict[socket.socket, None] = {}  # the oldest first
        self._admitted: set[socket.socket] = set()
        ThreadingHTTPServer.__init__(self, (ADDRESS, port), _Handler)

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept the next connection. Of those that have not shown the token, the oldest is dropped
        if there are more than `MAX_CONNECTIONS`, so that silent ones keep nobody waiting."""
        connection, address = ThreadingHTTPServer.get_request(self)
        with self._lock:
            self._strangers[connection] = None
            oldest = next(iter(self._strangers))
            is_crowded = len(self._strangers) > MAX_CONNECTIONS
            if is_crowded:
                del self._strangers[oldest]
                with contextlib.suppress(OSError):  # its thread closes it
                    oldest.shutdown(socket.SHUT_RDWR)
        return connection, address

    def admit(self, connection: socket.socket) -> None:
        """Give a connection that has shown the token one of `MAX_CONNECTIONS` places, once one is
        free. It keeps the place until it is closed.

        **Raises:** `TimeoutError` if none becomes free.
        """
        with self._lock:
            self._strangers.pop(connection, None)
            if connection in self._admitted:
                return
        if not self._free.acquire(timeout=_BODY_SECONDS):
            raise TimeoutError
        with self._lock:
            self._admitted.add(connection)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, whose place is free then."""
        with self._lock:
            self._strangers.pop(request, None)
            has_place = request in self._admitted
            self._admitted.discard(request)
        ThreadingHTTPServer.shutdown_request(self, request)
        if has_place:
            self._free.release()

    def server_close(self) -> None:
        """Give the port back, and wait for what is being computed."""
        ThreadingHTTPServer.server_close(self)
        self.session.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away is not an error; handlers answer all others themselves."""
        del request, client_address


class _TimedInput(io.RawIOBase):
    """What arrives on a connection until some time, however slowly."""

    def __init__(self, connection: socket.socket):
        self.connection = connection
        self.allow(_HEADER_SECONDS)

    def allow(self, seconds: float) -> None:
        """Wait that long for all that is read from now on."""
        self.end = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError  # which closes the connection
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Lines that are not requests are answered with a header, too.
    default_request_version = "HTTP/1.0"
    server_version, sys_version = "snpjax", ""
    # A header and its body are two packets: the second would wait 40 ms for the ACK of the first.
    disable_nagle_algorithm = True

    def setup(self) -> None:
        BaseHTTPRequestHandler.setup(self)
        self.rfile.close()
        self._input = _TimedInput(self.connection)
        self.rfile = io.BufferedReader(self._input)

    def handle_one_request(self) -> None:
        self._input.allow(_HEADER_SECONDS)
        BaseHTTPRequestHandler.handle_one_request(self)

    def parse_request(self) -> bool:
        """Whether there is a request to be answered: whatever its method, it is of our page."""
        if not BaseHTTPRequestHandler.parse_request(self):
            return False
        wrong = self._of_another_page()
        if wrong is not None:
            self._turn_away(HTTPStatus.FORBIDDEN, wrong)
            return False
        self._page.admit(self.connection)
        if self.command not in _METHODS:
            message = f"The method {self.command!r:.60} is none of {', '.join(_METHODS)}."
            self._turn_away(HTTPStatus.METHOD_NOT_ALLOWED, message)
        else:
            self._input.allow(_BODY_SECONDS)
            return True
        return False

    def handle_expect_100(self) -> bool:
        """Ask nobody to continue before we know who it is; clients do so after a moment."""
        return True

    def do_GET(self) -> None:
        name = self._path or INDEX
        if name not in ASSETS:
            return self._refuse(HTTPStatus.NOT_FOUND, "There is no such file.")
        self._send(HTTPStatus.OK, ASSETS[name], asset(name))

    do_HEAD = do_GET  # whose body `_send` leaves out

    def do_POST(self) -> None:
        question, charset = self._question(), self.headers.get_content_charset("utf-8")
        if charset not in _CHARSETS:
            message = f"The charset is {charset!r:.60}. Send UTF-8."
            return self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, message)
        folder, _, call = self._path.partition("/")
        if folder != "api" or question is None:
            return self._refuse(HTTPStatus.BAD_REQUEST, "This is not a question of the page.")
        answer, outcome = self._page.session.reply(call, question)
        if outcome != "answered":
            answer = {"problem": answer["refused"]}
        self._send(_STATUS[outcome], "application/json", json.dumps(answer).encode())

    @property
    def _page(self) -> PageServer:
        return cast(PageServer, self.server)

    @property
    def _path(self) -> str:
        """What follows the token."""
        return self._target()[1]

    def _target(self) -> tuple[str, str]:
        """The token of the address, empty if there is none, and what follows it."""
        _, _, rest = self.path.partition("?")[0].partition("/")
        token, slash, path = rest.partition("/")
        return (token, path) if slash else ("", "")

    def _question(self) -> dict[str, Any] | None:
        """The object in the body, or `None` if there is none."""
        length = self._length()
        if length is None or length > _MAX_QUESTION:
            self.close_connection = True
            return None
        body = self.rfile.read(length)
        # Forms of other pages cannot send this type without asking first.
        if self.headers.get_content_type() != "application/json":
            return None
        try:
            value = parse_json(body, half_characters=True)  # readers refuse them in files
        except JsonError:
            return None
        return value if isinstance(value, dict) else None

    def _length(self) -> int | None:
        """Of the body in bytes, if it is said."""
        text = self.headers.get("Content-Length", "")
        is_known = re.fullmatch("[0-9]{1,18}", text) and "Transfer-Encoding" not in self.headers
        return int(text) if is_known else None

    def _of_another_page(self) -> str | None:
        """How a request shows that it is not of our page, if it does."""
        hosts = {f"{name}:{self._page.server_port}" for name in _NAMES}
        # A name of somebody else that leads to this address has another `Host`.
        if self.headers.get("Host") not in hosts:
            return "This server has another name."
        if self.headers.get("Origin") not in (None, *(f"http://{host}" for host in hosts)):
            return "Another page asks."
        if not secrets.compare_digest(self._target()[0].encode(), self._page.token.encode()):
            return "The token is wrong. Open the address that `snpjax view` printed."
        return None

    def _turn_away(self, status: HTTPStatus, message: str) -> None:
        """Refuse a request before its body is read, and close the connection. A short body is read
        then: if it were not, the answer might be lost."""
        self.close_connection = True
        self._refuse(status, message)
        length = self._length()
        if length is not None and length <= _MAX_SKIPPED:
            self.rfile.read(length)

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        self._send(status, "text/plain; charset=utf-8", f"{message}\n".encode())

    def send_error(self, code: int, message: Any = None, explain: Any = None) -> None:
        """Answer what is no HTTP like all that is refused."""
        del message, explain
        self.close_connection = True
        status = HTTPStatus(code)
        self._refuse(status, f"{status.phrase}.")

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        try:
            self.connection.settimeout(_BODY_SECONDS)
            self.send_response(status)
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", f"{len(body)}")
            if status == HTTPStatus.METHOD_NOT_ALLOWED:
                self.send_header("Allow", ", ".join(_METHODS))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: addresses hold the token."""
        del format, args
