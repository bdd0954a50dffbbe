"""`emissary doctor`: says what is there and what is missing."""

import json as json_module
import platform
import shutil
import socket
import sqlite3
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from emissary.cli.output import Exit, err
from emissary.compose import the_clock
from emissary.settings import Settings, load_settings

__all__ = ["doctor"]

Status = Literal["ok", "note", "missing"]
_SIGNS = {"ok": "[green]✓[/]", "note": "[yellow]![/]", "missing": "[red]✗[/]"}
_BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
_LEAST_FREE = 500 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; only what is `missing` keeps Emissary from working."""

    name: str
    status: Status
    detail: str


def doctor(*, json: Annotated[bool, typer.Option("--json", help="The findings as JSON, for scripts.")] = False) -> None:
    """Say what is there and what is missing: disk, database, clock, port, browser."""
    settings = load_settings()
    looks = (_python, _disk, _database, _clock, _port, _browser, _networks, _agent)
    findings = [look(settings) for look in looks]
    if json:
        print(json_module.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        table = Table(box=None, show_header=False, pad_edge=False)
        for finding in findings:
            table.add_row(_SIGNS[finding.status], finding.name, finding.detail)
        err.print(table)
    if any(finding.status == "missing" for finding in findings):
        raise typer.Exit(Exit.INTERNAL)


def _python(_: Settings) -> Finding:
    return Finding("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def _disk(settings: Settings) -> Finding:
    folder = settings.data_dir
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError as error:
        return Finding("disk", "missing", f"{folder} cannot be written ({error.strerror}): set EMISSARY_DATA_DIR")
    free = shutil.disk_usage(folder).free
    status: Status = "ok" if free >= _LEAST_FREE else "note"
    return Finding("disk", status, f"{folder}, {free / 1024**3:.1f} GiB free")


def _database(settings: Settings) -> Finding:
    if sqlite3.sqlite_version_info < (3, 38, 0):
        return Finding("sqlite", "missing", f"{sqlite3.sqlite_version} is too old: 3.38 or later is needed")
    file = settings.data_dir / "emissary.db"
    return Finding("sqlite", "ok", f"{sqlite3.sqlite_version}, {file if file.exists() else 'no database yet'}")


def _clock(_: Settings) -> Finding:
    now = the_clock().now()
    if now.year < 2026:
        return Finding("clock", "missing", f"says {now:%Y-%m-%d}: set it, or leases and signatures will be wrong")
    return Finding("clock", "ok", f"{now:%Y-%m-%d %H:%M:%S} UTC")


def _port(settings: Settings) -> Finding:
    try:
        with socket.create_server((settings.host, settings.port)):
            return Finding("port", "ok", f"{settings.host}:{settings.port} is free")
    except OSError as error:
        detail = (
            f"{settings.host}:{settings.port} cannot be taken ({error.strerror}); is Emissary running? Else use --port"
        )
        return Finding("port", "note", detail)


def _browser(settings: Settings) -> Finding:
    found = find_browser(settings.chromium)
    if found is None:
        return Finding("browser", "note", "none found; this version reads over HTTP only and does not need one")
    return Finding("browser", "ok", f"{found} (not used yet: this version reads over HTTP only)")


def find_browser(named: Path | None) -> Path | None:
    """The Chromium that would be used: the one that is named, else an installed one, else Playwright's."""
    if named is not None:
        return named if named.exists() else None
    for name in _BROWSERS:
        if path := shutil.which(name):
            return Path(path)
    cached = Path("~/.cache/ms-playwright").expanduser().glob("chromium*/chrome-*/*chrome*")
    return next((path for path in sorted(cached, reverse=True) if path.is_file()), None)


def _networks(settings: Settings) -> Finding:
    if not settings.allow_networks:
        return Finding("networks", "ok", "only public addresses are read")
    return Finding("networks", "note", f"{', '.join(settings.allow_networks)} may be read although not public")


def _agent(settings: Settings) -> Finding:
    if settings.agent_url is None:
        return Finding("agent", "note", "EMISSARY_AGENT_URL is not set: the owners of sites cannot reach you")
    return Finding("agent", "ok", f"sites are told to turn to {settings.agent_url}")
