"""A batch or a crawl on its way: how far it is, how fast, and what is left of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from emissary.cli.downloading import Download
from emissary.cli.output import Exit, err
from emissary.client import Emissary
from emissary.client.answers import BatchStatus
from emissary.compose import the_clock

__all__ = ["come_back", "exit_of", "follow", "summary"]

_SECONDS_BETWEEN_LINES = 10.0
_A_MOMENT = 2  # seconds: the last page seems to be as far off for as long as it takes

Show = Callable[[BatchStatus], None]


def follow(client: Emissary, batch: str, *, output: str | None, server: str | None) -> BatchStatus:
    """Wait until it has ended, and write its results as they come. Ctrl-C ends the waiting and nothing else."""
    try:
        with Download(output, batch) if output else nullcontext() as download, _shown() as show:
            for status in client.watch(batch):
                show(status)
                if download is not None:
                    download.take(client.result_lines(batch, download.cursor))
            if download is not None:
                download.finish()
    except KeyboardInterrupt:
        err.print(f"{batch} is not cancelled. {come_back(batch, output, server)}", markup=False, soft_wrap=True)
        raise typer.Exit(Exit.INTERRUPTED) from None
    err.print(summary(status), markup=False, soft_wrap=True)
    if download is not None and output != "-":
        err.print(f"{download.count} results written to {output}", markup=False, soft_wrap=True)
    return status


def come_back(batch: str, output: str | None, server: str | None) -> str:
    """What to type to see it again."""
    more = (f" -o {output}" if output else "") + (f" --server {server}" if server else "")
    return f"Come back with:  emissary jobs wait {batch}{more}"


def exit_of(status: BatchStatus) -> Exit:
    """Whether something came of it; of a batch, some pages may always be refused or fail."""
    if status.status == "cancelled":
        return Exit.UNREACHABLE
    if status.came or not status.total:
        return Exit.OK
    return Exit.UNREACHABLE if status.counts.failed else Exit.REFUSED


def summary(status: BatchStatus) -> str:
    """How it stands, in one line."""
    counts = status.counts
    what = "pages and lists of them" if status.is_crawl else "pages"
    came = f"{status.came} pages came" if status.is_crawl else f"{status.came} came"
    told = [f"{counts.ended} of {status.total} {what}", came, *_losses(status), *_pace(status)]
    if not status.has_ended:
        told += _left(status)
    return f"{status.id} {status.status}: {', '.join(told)}"


def _pace(status: BatchStatus) -> list[str]:
    pace = status.pages_per_second
    return [] if pace is None else [f"{pace:,.0f} pages/s" if pace >= 10 else f"{pace:.2g} pages/s"]


def _losses(status: BatchStatus) -> list[str]:
    counts = {"refused": status.counts.refused, "failed": status.counts.failed, "cancelled": status.counts.cancelled}
    return [f"{count} {name}" for name, count in counts.items() if count]


def _left(status: BatchStatus) -> list[str]:
    """How long it takes by the pace so far, but not less than what it waits for; nothing where that is a moment."""
    rests = [wait.until for wait in status.why_waiting if wait.until is not None]
    ends = [*rests, *([] if status.eta is None else [status.eta])]
    seconds = round((max(ends) - the_clock().now()).total_seconds()) if ends else 0
    if seconds < _A_MOMENT:
        return []
    # Whether a page comes when it is asked for once more is not known, so that is no end to count down to.
    is_tried_again = not status.counts.active and {wait.reason for wait in status.why_waiting} == {"back_off"}
    return [f"tries again in {_span(seconds)}" if is_tried_again else f"{_span(seconds)} left"]


def _span(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


@contextmanager
def _shown() -> Iterator[Show]:
    """A bar on a terminal, and elsewhere a line every now and then."""
    if not err.is_terminal:
        yield _lines()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[told]}"))
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("reading", total=None, told="")

        def show(status: BatchStatus) -> None:
            told = ", ".join([*_pace(status), *_left(status), *_losses(status)])
            progress.update(
                task, total=status.total, completed=status.counts.ended, description=status.status, told=told
            )

        yield show


def _lines() -> Show:
    clock = the_clock()
    due = clock.monotonic() + _SECONDS_BETWEEN_LINES

    def show(status: BatchStatus) -> None:
        nonlocal due
        if not status.has_ended and clock.monotonic() >= due:
            err.print(summary(status), markup=False, soft_wrap=True)
            due = clock.monotonic() + _SECONDS_BETWEEN_LINES

    return show
