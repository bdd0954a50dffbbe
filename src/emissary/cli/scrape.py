"""`emissary scrape URL`: reads one page in this process, on the same code as the server."""

import asyncio
import json as json_module
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
import uvloop
import yaml

from emissary.cli.output import Exit, complain, err
from emissary.cli.starting import settle_in
from emissary.compose import LOCAL_ACCOUNT, open_app
from emissary.model.errors import BadRequest
from emissary.model.jobs import FINAL_STATES, JobState, Priority
from emissary.model.pages import Format, Outcome
from emissary.products.scrape import ScrapeOrder
from emissary.products.scrape.order import check_options
from emissary.products.scrape.scrapes import Shown
from emissary.reading.urls import parse
from emissary.settings import Settings
from emissary.telemetry.logs import configure_logs

__all__ = ["schema_in", "scrape"]

_decode_outcome = msgspec.json.Decoder(Outcome).decode
_EXITS = {"page": Exit.OK, "refusal": Exit.REFUSED, "unreachable": Exit.UNREACHABLE, "invalid": Exit.UNREACHABLE}


def scrape(
    url: Annotated[str, typer.Argument(help="The page to read.")],
    *,
    format: Annotated[list[str] | None, typer.Option("--format", "-f", help="A format; may be repeated.")] = None,  # noqa: A002
    fields: Annotated[Path | None, typer.Option(help="A YAML or JSON file with a field schema.", exists=True)] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the answer to this file.")] = None,
    full_page: Annotated[bool, typer.Option("--full-page", help="Keep navigation, footers and the like.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the page.", min=0.1, max=300)] = 30.0,
    json: Annotated[bool, typer.Option("--json", help="The whole answer as JSON: document, outcome, receipt.")] = False,
) -> None:
    """Read one page, politely, without a server.

    Exit codes: 0 ok, 2 wrong usage, 3 the site refused, 4 nothing usable came, 5 our fault.
    """
    settings = settle_in(worker_lanes=1)
    configure_logs(settings.log, "error")
    order = _order(url, _formats(format, fields), fields, full_page=full_page, timeout=timeout)
    check_options(order)
    with err.status(f"reading {url} …"):
        shown = uvloop.run(_scrape(settings, order))
    raise typer.Exit(_answer(shown, order, output, as_json=json))


def _formats(asked: list[str] | None, fields: Path | None) -> tuple[Format, ...]:
    known = {each.value: each for each in Format}
    for name in asked or ():
        if name not in known:
            raise BadRequest(f"there is no format {name!r}: there are {', '.join(known)}", "unknown_format")
    named = [known[name] for name in asked or ()]
    if fields is not None:
        named.append(Format.FIELDS)
    return tuple(dict.fromkeys(named)) or (Format.MARKDOWN,)


def _order(
    url: str, formats: tuple[Format, ...], fields: Path | None, *, full_page: bool, timeout: float
) -> ScrapeOrder:
    return ScrapeOrder(
        url=parse(url),
        source_url=url,
        formats=formats,
        fields=None if fields is None else msgspec.json.encode(schema_in(fields)).decode(),
        only_main_content=not full_page,
        timeout_ms=int(timeout * 1000),
        patience_ms=int(timeout * 1000),
    )


def schema_in(file: Path) -> Any:
    """The field schema that a file has; raises BadRequest where it cannot be read."""
    try:
        return yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadRequest(f"{file} cannot be read as a field schema: {error}", "invalid_fields") from error


async def _scrape(settings: Settings, order: ScrapeOrder) -> Shown:
    async with open_app(settings) as app:
        scrapes = app.services.scrapes
        if await app.workers.living():
            # A server works on this directory: it reads the page, by its own settings, and keeps its hosts' pace.
            return await scrapes.scrape(LOCAL_ACCOUNT, order, Priority.NORMAL)
        async with asyncio.TaskGroup() as group:
            await app.upkeep.learn()
            group.create_task(app.worker.run())
            try:
                shown = await scrapes.scrape(LOCAL_ACCOUNT, order, Priority.NORMAL)
                return shown if shown.job.state in FINAL_STATES else await scrapes.cancel(LOCAL_ACCOUNT, shown.job.id)
            finally:
                app.worker.stop()


def _answer(shown: Shown, order: ScrapeOrder, output: Path | None, *, as_json: bool) -> Exit:
    if shown.job.state not in FINAL_STATES or shown.job.result is None:
        complain(_unfinished(shown))
        return Exit.UNREACHABLE
    outcome = _decode_outcome(shown.job.result.outcome)
    result: dict[str, Any] = {"document": None, "receipt": None} | msgspec.json.decode(shown.result or b"{}")
    if as_json:
        whole = {"id": shown.job.id, "status": shown.job.state, "outcome": outcome, **result}
        _write(msgspec.json.format(msgspec.json.encode(whole), indent=2).decode(), output)
    elif result["document"] is not None:
        _write(_plain(result["document"], order.formats), output)
    if outcome.kind != "page":
        complain(f"{outcome.code}: {outcome.detail}")
    return Exit.INTERNAL if outcome.code == "internal" else _EXITS[outcome.kind]


def _unfinished(shown: Shown) -> str:
    if shown.job.state is JobState.CANCELLED:
        return "no answer in time: the page was given up"
    why = shown.why_waiting
    reason = "it is being read" if why is None else f"it waits in {why.lane}: {why.reason}"
    return f"no answer in time; {reason}. It goes on when a server runs on the same directory ({shown.job.id})"


def _plain(document: dict[str, Any], formats: tuple[Format, ...]) -> str:
    """One format is printed as it is; several as JSON."""
    parts: Any = {name.value: document.get(name.value) for name in formats}
    shown = parts[formats[0].value] if len(parts) == 1 else parts
    return shown if isinstance(shown, str) else json_module.dumps(shown, ensure_ascii=False, indent=2)


def _write(text: str, output: Path | None) -> None:
    if output is None:
        print(text)
        return
    try:
        output.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise BadRequest(f"{output} cannot be written ({error.strerror}): choose another file with -o") from error
    err.print(f"written to {output}", markup=False)
