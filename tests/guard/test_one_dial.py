"""Connections are opened in one place: the rest of the source has nothing with which it could open one."""

import ast
import inspect
from pathlib import Path

import pytest

import emissary
from emissary.adapters.http import HttpWeb
from emissary.reading.guard import Guard

_SOURCE = Path(emissary.__file__).parent

_DIAL = "adapters/http/dial.py"

# Each exception with its reason. It holds for these uses and for no others in the file.
_EXCEPTIONS: dict[str, tuple[set[str], str]] = {
    _DIAL: ({"socket", "sock_connect"}, "the one place"),
    "adapters/http/tunnel.py": ({"socket"}, "speaks to a proxy over a socket that the dial has opened; names the type"),
    "adapters/http/connector.py": ({"create_connection"}, "wraps a socket of the dial; a test below sees to that"),
    "backends/cluster/database.py": ({"asyncpg"}, "the operator's own database"),
    "backends/cluster/outages.py": ({"asyncpg"}, "names its errors"),
    "backends/cluster/schema.py": ({"asyncpg"}, "the operator's own database"),
    "backends/cluster/blobs.py": ({"obstore"}, "the operator's own object store"),
    "backends/cluster/captures.py": ({"obstore"}, "the operator's own object store"),
    "backends/cluster/objects.py": ({"obstore"}, "the operator's own object store"),
    "client/http_wire.py": ({"open_connection"}, "the operator's own server, which the client was given"),
    "cli/serving.py": ({"socket"}, "the socket that the API listens on"),
    "cli/doctor.py": ({"socket"}, "looks whether the port it shall listen on is free"),
    "cli/up.py": ({"socket"}, "the socket that the API listens on"),
}
_TESTING = "testing/"  # servers, proxies and clients of this machine, for tests

_MODULES = {
    *("asyncpg", "obstore"),
    *("aiodns", "aiosmtplib", "curl_cffi", "ftplib", "grpc", "http.client", "httpcore", "httpx", "imaplib", "nntplib"),
    *("pycurl", "pycares", "poplib", "requests", "smtplib", "socket", "socks", "socketserver", "telnetlib"),
    *("urllib.request", "urllib3", "websockets", "xmlrpc.client", "imap_tools"),
}
_NAMES = {
    *("ClientSession", "TCPConnector", "UnixConnector", "create_connection", "create_unix_connection"),
    *("create_datagram_endpoint", "open_connection", "open_unix_connection", "sock_connect", "sock_sendto"),
    *("connect_ex", "urlopen", "connect_tcp", "connect_unix", "create_connected_udp_socket"),
}


def _uses(module: Path) -> set[str]:
    """What in the module could open a connection: imports of such modules, and names of such functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                found |= _known(name.name for name in names)
            case ast.ImportFrom(module=str(origin), names=names):
                found |= _known([origin, *(f"{origin}.{name.name}" for name in names)])
                found |= {name.name for name in names} & _NAMES
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in _NAMES:
                found.add(name)
            case ast.Constant(value=str(text)) if text in _NAMES or text in _MODULES - {"socket", "requests"}:
                found.add(text)  # getattr and import_module
            case _:
                pass
    return found


def _known(names: object) -> set[str]:
    asked = set(names)  # type: ignore[call-overload]
    return {module for module in _MODULES for name in asked if name == module or name.startswith(f"{module}.")}


def _modules() -> list[tuple[str, Path]]:
    return [(path.relative_to(_SOURCE).as_posix(), path) for path in sorted(_SOURCE.rglob("*.py"))]


def test_only_the_dial_can_open_a_connection() -> None:
    offenders = {
        name: surplus
        for name, path in _modules()
        if not name.startswith(_TESTING) and (surplus := _uses(path) - _EXCEPTIONS.get(name, (set(), ""))[0])
    }
    assert offenders == {}, "these could open connections past the guard; use the Web port instead"


def test_every_exception_has_its_reason_and_its_file() -> None:
    names = {name for name, _ in _modules()}
    optional = {"cli/doctor.py", "cli/up.py", "cli/serving.py"}
    assert set(_EXCEPTIONS) - optional <= names
    assert all(reason for _, reason in _EXCEPTIONS.values())


@pytest.mark.parametrize(
    "code",
    [
        "import socket",
        "import socket as harmless",
        "from socket import create_connection as look",
        "import urllib.request",
        "from urllib import request",
        "from http import client",
        "import http.client as reading",
        "import asyncio\nasyncio.open_connection('h', 1)",
        "import aiohttp\naiohttp.ClientSession()",
        "from aiohttp import TCPConnector",
        "async def f(loop, s): await loop.sock_connect(s, ('h', 1))",
        "async def f(loop): await loop.create_connection(None, 'h', 1)",
        "import asyncio\ngetattr(asyncio, 'open_connection')",
        "import importlib\nimportlib.import_module('http.client')",
        "import httpx",
        "def f():\n    import smtplib",
    ],
)
def test_the_walk_sees_each_way_of_opening_one(tmp_path: Path, code: str) -> None:
    module = tmp_path / "sneaky.py"
    module.write_text(code)
    assert _uses(module)


def _calls(name: str, function: str) -> list[ast.Call]:
    tree = ast.parse((_SOURCE / name).read_text(encoding="utf-8"))
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == function
    ]


def test_the_connector_only_wraps_sockets_of_the_dial() -> None:
    calls = _calls("adapters/http/connector.py", "create_connection")
    assert calls
    for call in calls:
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        assert given["sock"] == "dialled.sock"
        assert not {"host", "port", "local_addr"} & set(given)
        assert len(call.args) == 1


def _callers(function: str) -> set[str]:
    return {name for name, _ in _modules() if not name.startswith(_TESTING) and _calls(name, function)}


def test_every_connection_comes_from_the_connector_and_its_dial() -> None:
    assert _callers("Connection") == {"adapters/http/connector.py"}
    assert _callers("Connector") == {"adapters/http/client.py"}
    (made,) = _calls("adapters/http/client.py", "Connector")
    assert ast.unparse(made.args[0]).startswith("Dial(permits, ")


def test_nobody_but_the_dial_connects() -> None:
    assert len(_calls(_DIAL, "sock_connect")) == 1
    users = [name for name, path in _modules() if "connect_to" in path.read_text() and not name.startswith(_TESTING)]
    assert users == [_DIAL]


def test_no_setting_switches_the_guard_off() -> None:
    """The guard is built from networks alone, and a client cannot be built without what it permits."""
    assert list(inspect.signature(Guard).parameters) == ["allowed"]
    assert inspect.signature(HttpWeb).parameters["permits"].default is inspect.Parameter.empty


def test_the_client_speaks_to_the_server_it_was_given_and_to_nobody_else() -> None:
    (call,) = _calls("client/http_wire.py", "open_connection")
    assert [ast.unparse(each) for each in call.args] == ["self._host", "self._port"]
    text = (_SOURCE / "client/http_wire.py").read_text(encoding="utf-8")
    assert text.count("self._host,") == 2, "it is set once, by the constructor, and used once"
    assert "location" not in text.lower(), "no redirect is followed"
