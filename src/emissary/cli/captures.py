"""`emissary captures`: what was kept of the exchanges, and a way to take it along."""

import json as json_module
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal
from rich.progress import Progress

from emissary.cli.output import Exit, complain, err, tell
from emissary.cli.starting import in_app
from emissary.compose import App
from emissary.model.errors import BadRequest

__all__ = ["verbs"]

verbs = typer.Typer(help="List or export the captured exchanges (WARC).", no_args_is_help=True)

_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
_Since = Annotated[
    str | None, typer.Option(help="Only hours since then: 30m, 6h, 2d, or a time such as 2026-11-18T10.")
]


@verbs.command("list")
def list_segments(
    *,
    since: _Since = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")] = False,
) -> None:
    """Say which segments there are: one for each hour and process, oldest first."""
    found = in_app(lambda app: app.stores.captures.segments(_moment(app, since)))
    if json:
        told = [{"name": each.name, "beginsAt": each.begins_at, "bytes": each.bytes} for each in found]
        tell(told)
        return
    for each in found:
        print(f"{each.begins_at:%Y-%m-%d %H:%M}  {decimal(each.bytes):>10}  {each.name}")
    if not found:
        err.print("nothing has been captured yet, or it was more than a day ago")


@verbs.command("export")
def export(
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="A file for all, or a directory for the segments.")],
    since: _Since = None,
    json: Annotated[bool, typer.Option("--json", help="Say what was written as JSON, for scripts.")] = False,
) -> None:
    """Write the captures to one WARC file, or segment by segment into a directory."""
    written, size = in_app(lambda app: _export(app, output, since))
    if json:
        print(json_module.dumps({"output": str(output), "segments": written, "bytes": size}))
    elif written:
        err.print(f"{written} segments, {decimal(size)}, written to {output}", markup=False, soft_wrap=True)
    if not written:
        complain("there is nothing to export")
        raise typer.Exit(Exit.UNREACHABLE)


async def _export(app: App, output: Path, since: str | None) -> tuple[int, int]:
    found = await app.stores.captures.segments(_moment(app, since))
    try:
        target = _Target(output, app.settings.data_dir / "captures")
        with Progress(console=err, transient=True, disable=not err.is_terminal) as progress:
            task = progress.add_task("exporting", total=sum(each.bytes for each in found))
            for each in found:
                body = await app.stores.captures.segment(each.name)
                if body is not None:  # else its day was over in this moment
                    target.write(each.name, body)
                progress.advance(task, each.bytes)
        target.finish()
    except OSError as error:
        raise BadRequest(f"{output} cannot be written ({error.strerror}): choose another place with -o") from error
    return target.segments, target.bytes


class _Target:
    """One file, whole or not at all, or a directory of segments. Segments one after another are one WARC file again."""

    def __init__(self, output: Path, kept: Path) -> None:
        # A segment that is still written to must not be put in the place of itself.
        if output.resolve().is_relative_to(kept.resolve()):
            raise BadRequest(f"{output} is where the captures themselves are: choose another place with -o")
        self._output = output
        self._folder = output if output.is_dir() else None
        self._partial = output.with_name(f".{output.name}.part")
        self.segments = 0
        self.bytes = 0

    def write(self, name: str, body: bytes) -> None:
        if self._folder is not None:
            (self._folder / name).write_bytes(body)
        else:
            with self._partial.open("ab" if self.segments else "wb") as file:
                file.write(body)
        self.segments += 1
        self.bytes += len(body)

    def finish(self) -> None:
        if self.segments and self._folder is None:
            self._partial.replace(self._output)


def _moment(app: App, since: str | None) -> datetime | None:
    if since is None:
        return None
    if found := re.fullmatch(r"(\d{1,6})([mhd])", since):
        return app.services.clock.now() - int(found[1]) * _UNITS[found[2]]
    try:
        moment = datetime.fromisoformat(since)
    except ValueError:
        raise BadRequest(f"--since {since!r} is no time: write 30m, 6h, 2d or 2026-11-18T10:00") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
