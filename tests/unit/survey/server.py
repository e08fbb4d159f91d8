"""A real HTTP server on loopback that misbehaves as told."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Behaviour:
    """What the server serves and how; `requests` collects what it was asked."""

    content: bytes
    ranges: bool = True
    etag: str = '"v1"'
    refusals: list[int] = field(default_factory=list)  # status codes answered before anything else
    break_after: list[int] = field(default_factory=list)  # bytes after which each answer breaks off
    fewer: int = 0  # bytes less than announced, each time
    silent_s: float = 0.0  # seconds without an answer
    redirect: str = ""
    length: bool = True  # whether the length is announced
    requests: list[dict[str, str]] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    behaviour: Behaviour

    def do_GET(self) -> None:
        behaviour = self.behaviour
        behaviour.requests.append({"path": self.path} | {k.lower(): v for k, v in self.headers.items()})
        if behaviour.silent_s:
            time.sleep(behaviour.silent_s)
            return
        if behaviour.refusals:
            self.send_response(behaviour.refusals.pop(0))
            self.send_header("Retry-After", "0")
            self.end_headers()
            return
        if behaviour.redirect and self.path != "/moved.zip":
            self.send_response(302)
            self.send_header("Location", behaviour.redirect)
            self.end_headers()
            return
        self._send(self._start())

    def _start(self) -> int:
        behaviour = self.behaviour
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        same = self.headers.get("If-Range", behaviour.etag) == behaviour.etag
        return int(asked[1]) if asked and behaviour.ranges and same else 0

    def _send(self, start: int) -> None:
        behaviour = self.behaviour
        total = len(behaviour.content)
        if start >= total > 0:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{total}")
            self.end_headers()
            return
        body = behaviour.content[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
        if behaviour.length:
            self.send_header("Content-Length", str(len(body)))
        if behaviour.etag:
            self.send_header("ETag", behaviour.etag)
        self.end_headers()
        if behaviour.break_after:
            body = body[: behaviour.break_after.pop(0)]
        self.wfile.write(body[: len(body) - behaviour.fewer])

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    block_on_close = False  # a silent answer is not waited for

    def handle_error(self, *_: object) -> None:
        pass


@contextmanager
def serve(behaviour: Behaviour) -> Iterator[str]:
    """Serve until the block ends; yields the address."""

    handler = type("Handler", (_Handler,), {"behaviour": behaviour})
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
