"""PEP 503 pages and files over HTTP on 127.0.0.1. Folders stand for indexes: /whl/cu130/torch/ lists
whl/cu130/torch-*.whl."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import threading
from collections.abc import Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that leaves early is no news."""


class Index:
    """`url` of the server, the paths that were `asked` for, and switches to make it misbehave."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        self.silent = False  # take connections and never answer
        self.dies_after: int | None = None  # bytes of a wheel, then the connection closes
        self.delay_s = 0.0  # a pause in the middle of each wheel
        self.credentials: str | None = None  # user:password that every request must bring
        self.over = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self._handler())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def serve(self) -> None:
        self._server.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:  # uv asks whether the server can send parts of a wheel: this one can't
                self.do_GET()

            def do_GET(self) -> None:
                index.asked.append(self.path)
                if index.silent:
                    index.over.wait(60)
                    return
                if index.credentials and self.headers.get("Authorization") != _basic(index.credentials):
                    self.send_error(401)
                    return
                parts = [unquote(part) for part in self.path.split("#")[0].split("?")[0].strip("/").split("/")]
                if any(part.startswith(".") for part in parts):
                    self.send_error(404)
                elif self.path.split("#")[0].endswith(".whl"):
                    self._send_wheel(index.folder.joinpath(*parts))
                else:
                    self._send_page(index.folder.joinpath(*parts[:-1]), parts[-1])

            def _send_page(self, folder: Path, project: str) -> None:
                start = project.replace("-", "_") + "-"
                wheels = sorted(p.name for p in folder.glob("*.whl") if p.name.startswith(start))
                if not wheels:
                    self.send_error(404)
                    return
                rows = ""
                for name in wheels:
                    digest = _digest(folder / name, (folder / name).stat().st_mtime_ns)
                    rows += f'<a href="../{name.replace("+", "%2B")}#sha256={digest}">{name}</a><br>\n'
                self._send(f"<!DOCTYPE html><html><body>\n{rows}</body></html>".encode(), "text/html")

            def _send_wheel(self, path: Path) -> None:
                if not path.is_file():
                    self.send_error(404)
                    return
                self._send(path.read_bytes(), "application/octet-stream", index.dies_after)

            def _send(self, content: bytes, kind: str, at_most: int | None = None) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command == "HEAD":
                    return
                half = len(content) // 2 if at_most is None else at_most
                with contextlib.suppress(OSError):
                    self.wfile.write(content[:half])
                    self.wfile.flush()
                    if at_most is None:
                        if kind != "text/html" and index.delay_s:
                            index.over.wait(index.delay_s)
                        self.wfile.write(content[half:])
                self.close_connection = at_most is not None

            def log_message(self, *arguments: object) -> None:
                pass

        return Handler


@cache
def _digest(path: Path, mtime_ns: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _basic(credentials: str) -> str:
    return "Basic " + base64.b64encode(credentials.encode()).decode()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Index]:
    """An index of the wheels below the folder, while the block runs."""
    index = Index(folder)
    thread = threading.Thread(target=index.serve, daemon=True)
    thread.start()
    try:
        yield index
    finally:
        index.close()
        thread.join(5)
