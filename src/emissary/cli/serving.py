"""One process with everything in it: the API and a worker, from the first request to a graceful stop."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator

import uvicorn

from emissary.api.app import create_app
from emissary.compose import App, steady_process
from emissary.engine.admission import Admission
from emissary.model.errors import PortInUse

__all__ = ["serve"]

_GRACE_SECONDS = 30


class _Server(uvicorn.Server):
    """uvicorn, with the signals left to us: it would end the process before the worker has given its lanes back."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(app: App, on_ready: Callable[[str], None], stop: asyncio.Event) -> None:
    """Serve until told to stop, then finish what has begun."""
    listener = _bind(app.settings.host, app.settings.port)
    server = _Server(
        uvicorn.Config(
            create_app(app.services, _admission(app)),
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
    )
    async with asyncio.TaskGroup() as group:
        await app.upkeep.learn()
        upkeep = group.create_task(app.upkeep.run())
        noting = group.create_task(app.services.key_ring.run())
        group.create_task(app.worker.run())
        group.create_task(app.coordinator.run())
        serving = group.create_task(server.serve([listener]))
        while not server.started and not serving.done():
            await app.services.clock.sleep(0.005)
        steady_process()
        on_ready(_url(listener))
        await stop.wait()
        server.should_exit = True
        app.services.following.stop()
        app.services.jobs.stop()
        app.worker.stop()
        app.coordinator.stop()
        upkeep.cancel()
        noting.cancel()


def _admission(app: App) -> Admission:
    settings, clock = app.settings, app.services.clock
    return Admission(clock, most_at_once=settings.api_most_at_once, most_aside=settings.api_most_waiting)


def _bind(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1024)
    except OSError as error:
        raise PortInUse(f"cannot listen on {host}:{port} ({error.strerror}): choose another with --port") from error
    return listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
