"""What stands before a server in the world: it speaks TLS, and cuts connections off."""

import socket
import ssl
import threading
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit

__all__ = ["Front"]

_PIECE = 4_096


class Front:
    """Hands connections on to a server. `cuts` says after how many bytes of answers each one is hung up, in turn;
    those that come after them are let through, or hung up at once where the front `is_shut`.
    """

    def __init__(self, server: str, *cuts: int, is_shut: bool = False, secured: ssl.SSLContext | None = None) -> None:
        where = urlsplit(server)
        self._server = (str(where.hostname), where.port)
        self._cuts = list(cuts)
        self._is_shut = is_shut
        self._secured = secured
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]
        self.connections = 0

    @property
    def url(self) -> str:
        host, port = self._listener.getsockname()
        return f"{'https' if self._secured else 'http'}://{host}:{port}"

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(caller,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, caller: socket.socket) -> None:
        allowed = self._cuts.pop(0) if self._cuts else 0 if self._is_shut else None
        with suppress(OSError), caller:  # whoever does not trust us hangs up while we still greet
            if self._secured is not None:
                caller = self._secured.wrap_socket(caller, server_side=True)
            with caller, socket.create_connection(self._server) as server:
                asking = threading.Thread(target=_carry, args=(caller, server, None))
                asking.start()
                _carry(server, caller, allowed)
                asking.join()


def _carry(source: socket.socket, target: socket.socket, allowed: int | None) -> None:
    """What comes from the one goes to the other, up to so many bytes; then neither hears more of it."""
    with suppress(OSError):
        while (allowed is None or allowed > 0) and (piece := source.recv(_PIECE)):
            if allowed is not None:
                piece, allowed = piece[:allowed], allowed - len(piece)
            target.sendall(piece)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
