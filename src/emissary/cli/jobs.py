"""`emissary jobs`: what was begun, in a list; and seen, waited for, read out and steered, by its name."""

from collections.abc import Iterable
from itertools import islice
from typing import Annotated, Literal

import msgspec
import typer

from emissary.cli.downloading import Download
from emissary.cli.following import exit_of, follow, summary
from emissary.cli.output import err, tell
from emissary.cli.reaching import Json, Output, Server, reach
from emissary.client.answers import BatchStatus, Item, Job, JobLine
from emissary.model.errors import BadRequest

__all__ = ["verbs"]

verbs = typer.Typer(invoke_without_command=True)

_Name = Annotated[str, typer.Argument(metavar="ID", help="The name of a batch (bat_…) or a crawl (crl_…).")]
_AnyName = Annotated[str, typer.Argument(metavar="ID", help="The name of a job, a batch or a crawl.")]

# Fixed widths, so that rows can be printed as they come; what may be long stands last, and is never cut.
_ROW = "{:<30}  {:<9}  {:<18}  {:<20}  {}"


def _is_job(name: str) -> bool:
    return name.startswith("job_")


@verbs.callback()
def jobs(
    context: typer.Context,
    *,
    status: Annotated[str | None, typer.Option(help="Only those that are so, such as waiting or failed.")] = None,
    batch: Annotated[str | None, typer.Option(help="Only those of this batch or crawl.")] = None,
    host: Annotated[str | None, typer.Option(help="Only those at this host, with its port if it has one.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 100,
    every: Annotated[bool, typer.Option("--all", help="All of them, however many.")] = False,
    json: Json = False,
    server: Server = None,
) -> None:
    """List jobs, the newest first; or see, wait for, read out or cancel what was begun."""
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return
    with reach(server) as client:
        found = client.jobs(status, batch=batch, host=host)
        if not _print_list(found if every else islice(found, limit), as_json=json):
            err.print("there are no such jobs")
        elif not every and next(found, None) is not None:
            err.print(f"there are more than {limit}: say --all, or a higher --limit")


def _refuse_options(context: typer.Context) -> None:
    """What is said before a verb is about the list, and would be lost: `jobs --json show …`."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = "--all" if name == "every" else f"--{name}"
            raise BadRequest(f"{option} is of the list: say what is meant behind `{context.invoked_subcommand}`")


@verbs.command("show")
def show(name: _AnyName, *, json: Json = False, server: Server = None) -> None:
    """Say how a job, a batch or a crawl is now."""
    with reach(server) as client:
        found: Job | BatchStatus = client.job(name) if _is_job(name) else client.status(name)
    _say(found, as_json=json)


@verbs.command("wait")
def wait(name: _AnyName, *, output: Output = None, json: Json = False, server: Server = None) -> None:
    """Wait until it has ended, and write the results of a batch as they come, or on where they were cut."""
    with reach(server) as client:
        if _is_job(name):
            _say(client.wait_for_job(name), as_json=json)
            return
        status = follow(client, name, output=output, server=server)
    if json:
        tell(status)
    raise typer.Exit(exit_of(status))


@verbs.command("results")
def results(
    name: _Name,
    *,
    output: Output = "-",
    after: Annotated[str, typer.Option(help="A cursor: begin behind it. For what is printed.")] = "",
    server: Server = None,
) -> None:
    """Write what has ended by now. A file that was cut off is gone on with."""
    with reach(server) as client, Download(output or "-", name) as download:
        has_ended = client.status(name).has_ended
        download.take(client.result_lines(name, download.cursor or after))
        if has_ended:
            download.finish()
    if output != "-":
        more = "" if has_ended else "; there will be more, say the same again"
        err.print(f"{download.count} results written to {output}{more}", markup=False, soft_wrap=True)


@verbs.command("items")
def items(
    name: _Name,
    *,
    status: Annotated[str | None, typer.Option(help="Only those that are so, such as waiting or failed.")] = None,
    json: Json = False,
    server: Server = None,
) -> None:
    """List its pages in the order in which they came."""
    with reach(server) as client:
        for item in client.items(name, status):
            _line(item, as_json=json)


@verbs.command("errors")
def errors(name: _Name, *, json: Json = False, server: Server = None) -> None:
    """List its pages that failed or were refused, each with the reason."""
    with reach(server) as client:
        for item in client.errors(name):
            _line(item, as_json=json)


@verbs.command("pause")
def pause(name: _Name, *, json: Json = False, server: Server = None) -> None:
    """Begin no further page of it."""
    with reach(server) as client:
        _say(client.pause(name), as_json=json)


@verbs.command("resume")
def resume(name: _Name, *, json: Json = False, server: Server = None) -> None:
    """Go on where it was paused."""
    with reach(server) as client:
        _say(client.resume(name), as_json=json)


@verbs.command("retry")
def retry(
    name: _Name,
    *,
    only: Annotated[Literal["failed", "refused"], typer.Option(help="Which of them.")] = "failed",
    json: Json = False,
    server: Server = None,
) -> None:
    """Read once more what failed, or what was refused."""
    with reach(server) as client:
        again = client.retry(name, only)
    tell(again) if json else print(f"{again.again} pages are read once more")


@verbs.command("cancel")
def cancel(name: _AnyName, *, json: Json = False, server: Server = None) -> None:
    """End it: what has not been read will not be."""
    with reach(server) as client:
        found: Job | BatchStatus = client.cancel_job(name) if _is_job(name) else client.cancel(name)
    _say(found, as_json=json)


def _say(found: Job | BatchStatus, *, as_json: bool) -> None:
    if as_json:
        tell(found)
    elif isinstance(found, BatchStatus):
        print(summary(found))
    else:
        print(f"{found.id} {found.status}{_reason(found)}")


def _reason(job: Job) -> str:
    if job.outcome is not None:
        return f": {job.outcome.code}" + (f" ({job.outcome.detail})" if job.outcome.detail else "")
    if job.why_waiting is not None:
        return f": {job.why_waiting.reason} in {job.why_waiting.lane}, {job.why_waiting.ahead} ahead"
    return ""


def _print_list(jobs: Iterable[JobLine], *, as_json: bool) -> int:
    """Print them as they come, under a heading; how many there were."""
    count = 0
    for count, job in enumerate(jobs, 1):
        if as_json:
            print(msgspec.json.encode(job).decode())
            continue
        if count == 1:
            print(_ROW.format("JOB", "STATUS", "OUTCOME", "CREATED", "PAGE"))
        code = "-" if job.outcome is None else job.outcome.code
        print(_ROW.format(job.id, job.status, code, f"{job.created_at:%Y-%m-%dT%H:%M:%SZ}", job.url or f"({job.kind})"))
    return count


def _line(item: Item, *, as_json: bool) -> None:
    if as_json:
        print(msgspec.json.encode(item).decode())
        return
    why = "" if item.outcome is None else f"  {item.outcome.code}"
    print(f"{item.index}  {item.status}{why}  {item.url}")
