"""A server that answers what it was told to, byte for byte, hangs up, and remembers what it was asked."""

import json
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

__all__ = ["Asked", "ScriptedServer", "answer", "chunked", "problem"]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came; header names are in lower case."""

    line: str
    headers: dict[str, str]
    body: bytes


def answer(status: int, body: object, **headers: str) -> bytes:
    """A whole answer in JSON."""
    written = json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(written)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + written


def problem(status: int, code: str, **headers: str) -> bytes:
    return answer(status, {"code": code, "detail": f"this is {code}", "status": status}, **headers)


def chunked(*pieces: bytes, is_whole: bool) -> bytes:
    """A streamed answer, whole or broken off."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    return head + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n" * is_whole


class ScriptedServer:
    """`server.script = [b"…", b""]`: an answer for each connection; an empty one hangs up."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.script: list[bytes] = []
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        host, port = self._listener.getsockname()
        return f"http://{host}:{port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as file:
                self.asked.append(_read(file))  # type: ignore[arg-type]
                if self.script:
                    with suppress(ConnectionError):  # whoever has heard enough may hang up
                        connection.sendall(self.script.pop(0))


def _read(file: "socket.SocketIO") -> Asked:
    line = file.readline().decode().strip()
    headers = {}
    while text := file.readline().decode().strip():
        name, _, value = text.partition(": ")
        headers[name.lower()] = value
    body = b""
    while "transfer-encoding" in headers and (size := int(file.readline(), 16)):
        body += file.read(size + 2)[:size]
    return Asked(line, headers, body)
