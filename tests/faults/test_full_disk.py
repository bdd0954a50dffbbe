"""A disk that is full: what was accepted is kept, nothing more is accepted, and all goes on when there is room."""

import shutil
import signal
from pathlib import Path

import pytest
from checker import History, breaches
from served import LOCAL, Emissary, until

from emissary.testing.web import TestWebProcess

ROOM = "24m"
PAGES = 60
# A disk of its own, small, which nobody else sees; it is gone with the process. No privilege is needed for it.
CRAMPED = ["unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o size={ROOM} tmpfs "$0" && exec "$@"']


class CrampedEmissary(Emissary):
    """An Emissary with a small disk."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, {**LOCAL, "EMISSARY_API_KEY": "em_live_has_little_room"})
        (folder / "data").mkdir()
        self._command = [*CRAMPED, str(folder / "data"), *self._command]

    @property
    def disk(self) -> Path:
        """Its disk, as seen from here."""
        return Path(f"/proc/{self.process.pid}/root{self.folder / 'data'}")

    def fill(self) -> None:
        """Leave no room at all."""
        with (self.disk / "ballast").open("ab", buffering=0) as ballast, pytest.raises(OSError, match="No space left"):  # noqa: PT012
            while True:
                ballast.write(bytes(4096))

    def make_room(self) -> None:
        (self.disk / "ballast").unlink()

    def copy(self, folder: Path) -> Path:
        """What is on the disk in this moment; returns the database among it."""
        self.process.send_signal(signal.SIGSTOP)
        shutil.copytree(self.disk, folder)
        self.process.send_signal(signal.SIGCONT)
        return folder / "emissary.db"


def submit(server: Emissary, web: TestWebProcess, number: int, history: History) -> bool:
    """Whether it was accepted; if not, it is said why."""
    url = web.host_url(number % len(web.hosts) + 1, "/page/1")
    answer = server.post("/v1/scrape", {"url": url, "async": True})
    if answer.status == 202:
        history.accept(answer.json()["id"])
        return True
    assert (answer.status, answer.json()["code"]) == (503, "store_unavailable"), answer.body
    return False


def all_ended(server: Emissary, history: History) -> bool:
    return all(server.job(job)["status"] in {"completed", "failed"} for job in history.accepted)


def test_a_full_disk_loses_no_accepted_job_and_work_goes_on_when_there_is_room(
    tmp_path: Path, slow_web: TestWebProcess, times: int
) -> None:
    history = History()
    with CrampedEmissary(tmp_path) as server:
        for _ in range(times):
            assert all(submit(server, slow_web, number, history) for number in range(PAGES))
            server.fill()
            answers = [submit(server, slow_web, number, history) for number in range(PAGES)]
            assert not all(answers), "the disk was not full"
            assert server.job(history.accepted[0])["id"] == history.accepted[0], "what is known can still be asked for"
            server.make_room()
            until(lambda: submit(server, slow_web, 0, history))
            until(lambda: all_ended(server, history), within=60)
        for job in history.accepted:
            history.see(server.job(job))
        assert breaches(history, server.copy(tmp_path / "copy")) == []
        assert server.stop() == 0
    assert "Traceback" not in (tmp_path / "log").read_text()
