"""Killing the process with SIGKILL at any moment loses no accepted job."""

import base64
import http.client
import json
import random
import sqlite3
import subprocess
import threading
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from account import Account
from checker import History, breaches
from served import LOCAL, Emissary, until

from emissary.testing.web import TestWebProcess

_KILLS, _KILLS_EACH_TIME = 50, 10
_CALLERS = 3
_KEY = "em_live_survives_every_kill"
_SECRET = "whsec_" + base64.b64encode(b"k" * 24).decode()
_LOST = (OSError, http.client.HTTPException)


@dataclass(slots=True)
class Door:
    """Where callers find the server now, and whether they are to ask at all."""

    server: Emissary
    open: threading.Event = field(default_factory=threading.Event)
    closed_for_good: threading.Event = field(default_factory=threading.Event)


class Caller(threading.Thread):
    """Submits as fast as it is answered, looks now and then at what it submitted, and notes what it was told."""

    def __init__(self, door: Door, web: TestWebProcess, seed: int) -> None:
        super().__init__(daemon=True)
        self.history = History()
        self.refused: list[tuple[int, bytes]] = []
        self._door = door
        self._web = web
        self._chance = random.Random(seed)

    def run(self) -> None:
        while not self._door.closed_for_good.is_set():
            if self._door.open.wait(0.05):
                connection = self._door.server.connect(timeout=10)
                try:
                    while self._door.open.is_set():
                        self._submit(connection)
                        self._look(connection)
                except _LOST:
                    pass  # killed in the middle: what was not answered was not promised
                finally:
                    connection.close()

    def _submit(self, connection: http.client.HTTPConnection) -> None:
        order: dict[str, object] = {"url": self._page(), "async": True, "formats": ["text"]}
        if self._chance.random() < 0.1:
            order["webhook"] = {"url": self._web.url("hooks", "/hook"), "secret": _SECRET}
        status, body = self._ask(connection, "POST", "/v1/scrape", json.dumps(order).encode())
        if status == 202:
            self.history.accept(json.loads(body)["id"])
        else:
            self.refused.append((status, body))

    def _look(self, connection: http.client.HTTPConnection) -> None:
        if not self.history.accepted:
            return
        # Mostly at young jobs: those are the ones that the next kill may meet in the middle.
        age = min(int(self._chance.expovariate(0.05)) + 1, len(self.history.accepted))
        self.look_at(connection, self.history.accepted[-age])

    def look_at(self, connection: http.client.HTTPConnection, job: str) -> None:
        status, body = self._ask(connection, "GET", f"/v1/jobs/{job}")
        if status == 200:
            self.history.see(json.loads(body))
        else:
            self.refused.append((status, body))

    def _page(self) -> str:
        host, kind = self._chance.randint(1, len(self._web.hosts)), self._chance.random()
        if kind < 0.1:  # on to another host, and with it to another lane
            return self._web.url("moved", f"/to/{host}/small")
        return self._web.host_url(host, "/small" if kind < 0.7 else f"/page/{self._chance.randrange(50)}")

    def _ask(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None = None
    ) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {_KEY}", "Content-Type": "application/json"}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.mark.timeout(240)
def test_sigkill_at_any_moment_loses_no_accepted_job(tmp_path: Path, times: int, account: Account) -> None:
    chance, kills = random.Random(7733), max(_KILLS, _KILLS_EACH_TIME * times)
    with TestWebProcess(hosts=8) as web:
        server = Emissary(tmp_path, {**LOCAL, "EMISSARY_API_KEY": _KEY, "EMISSARY_LOG_LEVEL": "warning"})
        door = Door(server)
        callers = [Caller(door, web, seed) for seed in range(_CALLERS)]
        for caller in callers:
            caller.start()
        for number in range(kills):
            _life_and_death(door, chance, started_well=number % 5 != 4)
            account.one_more()
        with server:
            until(lambda: _open_jobs(server) == _untold(server) == 0, within=60)
            door.closed_for_good.set()
            _look_at_all(server, callers)
            assert server.stop() == 0
    told = History()
    for caller in callers:
        assert caller.refused == []
        told.accepted += caller.history.accepted
        told.sightings |= caller.history.sightings
    assert len(told.accepted) > 10 * kills, "too little was submitted to say anything"
    account.close(len(told.accepted), breaches(told, server.database))
    assert "Traceback" not in (tmp_path / "log").read_text()


def _life_and_death(door: Door, chance: random.Random, *, started_well: bool) -> None:
    """One life of the server: killed while it starts, while it is asked, or while it works off what it was asked."""
    server = door.server
    server.spawn()
    if not started_well:
        _let_live(server, chance.uniform(0.0, 0.8))
        server.kill()
        return
    assert server.await_ready(), (server.folder / "log").read_text()
    door.open.set()
    _let_live(server, chance.uniform(0.0, 0.4))
    if chance.random() < 0.3:
        door.open.clear()
        _let_live(server, chance.uniform(0.0, 0.2))
    server.kill()
    door.open.clear()


def _let_live(server: Emissary, seconds: float) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(seconds)


def _open_jobs(server: Emissary) -> int:
    figures = server.ask("GET", "/metrics").body.decode()
    (line,) = (line for line in figures.splitlines() if line.startswith("emissary_jobs_open "))
    return int(float(line.split()[1]))


def _untold(server: Emissary) -> int:
    """Jobs that the store itself has ended are told of by the leader, a moment later."""
    with closing(sqlite3.connect(server.database)) as store:
        (number,) = store.execute("SELECT count(*) FROM happenings").fetchone()
    return int(number)


def _look_at_all(server: Emissary, callers: list[Caller]) -> None:
    for caller in callers:
        caller.join(20)
        connection = server.connect()
        for job in caller.history.accepted:
            caller.look_at(connection, job)
        connection.close()
