"""Real servers for tests, on this machine and for as long as the test run: a database and an object store."""

from emissary.testing.servers.objects import ObjectServer
from emissary.testing.servers.postgres import PostgresServer

__all__ = ["ObjectServer", "PostgresServer"]
