"""`emissary batch` and `emissary crawl`: many pages, waited for or not, and their results in a file."""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated, Literal

import typer

from emissary.cli.downloading import check_output
from emissary.cli.following import come_back, exit_of, follow
from emissary.cli.output import err, tell
from emissary.cli.reaching import (
    Fields,
    Formats,
    FullPage,
    Json,
    MaxAge,
    Name,
    Output,
    Server,
    Sitemap,
    Wait,
    reach,
    wishes,
)
from emissary.client import Emissary
from emissary.client.answers import Accepted, Begun
from emissary.model.errors import BadRequest

__all__ = ["batch", "crawl", "pages_in"]


def batch(
    file: Annotated[str, typer.Argument(help="A file with a URL or a JSON object a line, or a .csv; - reads input.")],
    *,
    column: Annotated[str, typer.Option(help="The column of a .csv file that has the URLs.")] = "url",
    format: Formats = None,  # noqa: A002 - the name of the option
    fields: Fields = None,
    full_page: FullPage = False,
    max_age: MaxAge = None,
    name: Name = None,
    dedupe: Annotated[
        Literal["none", "batch", "cache"] | None,
        typer.Option(help="batch reads each page once, cache takes copies as well."),
    ] = None,
    output: Output = None,
    wait: Wait = True,
    json: Json = False,
    server: Server = None,
) -> None:
    """Read many pages, each host at its own pace.

    Exit codes: 0 something came, 2 wrong usage, 3 all was refused, 4 nothing usable came, 5 our fault.
    """
    check_output(output)
    options = wishes(format, fields, full_page=full_page, max_age=max_age, name=name, dedupe=dedupe)
    pages = pages_in(file, column)
    with reach(server) as client:
        accepted = client.batch(pages, **options)
        _warn(accepted)
        _go_on(client, accepted, output, wait=wait, json=json, server=server)


def crawl(
    url: Annotated[str, typer.Argument(help="Where the crawl begins.")],
    *,
    limit: Annotated[int | None, typer.Option(help="How many pages are read at most; 1,000 unless given.")] = None,
    max_depth: Annotated[int | None, typer.Option(help="How many links away from the start; 10 unless given.")] = None,
    include: Annotated[list[str] | None, typer.Option(help="Follow only links that match this; repeatable.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Follow no link that matches this; repeatable.")] = None,
    subdomains: Annotated[bool, typer.Option("--subdomains", help="Follow links to subdomains as well.")] = False,
    sitemap: Sitemap = None,
    format: Formats = None,  # noqa: A002 - the name of the option
    fields: Fields = None,
    full_page: FullPage = False,
    max_age: MaxAge = None,
    name: Name = None,
    output: Output = None,
    wait: Wait = True,
    json: Json = False,
    server: Server = None,
) -> None:
    """Read a site from one page on, at its own pace.

    Exit codes: 0 something came, 2 wrong usage, 3 all was refused, 4 nothing usable came, 5 our fault.
    """
    check_output(output)
    options = wishes(
        format,
        fields,
        full_page=full_page,
        max_age=max_age,
        name=name,
        limit=limit,
        max_depth=max_depth,
        include_paths=include,
        exclude_paths=exclude,
        allow_subdomains=subdomains or None,
        sitemap=sitemap,
    )
    with reach(server) as client:
        _go_on(client, client.crawl(url, **options), output, wait=wait, json=json, server=server)


def pages_in(file: str, column: str) -> Iterator[bytes | str]:
    """The pages that a file names, as they are read."""
    if file == "-":
        return _lines(sys.stdin.buffer)
    try:
        if file.lower().endswith(".csv"):
            return _column(Path(file).open(encoding="utf-8-sig", newline=""), file, column)
        return _lines(Path(file).open("rb"))
    except OSError as error:
        raise BadRequest(f"{file} cannot be read: {error.strerror}") from error


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        for line in file:
            if stripped := line.strip():
                yield stripped


def _column(file: IO[str], name: str, column: str) -> Iterator[str]:
    with file:
        rows = csv.DictReader(file)
        if column not in (rows.fieldnames or ()):
            there = ", ".join(rows.fieldnames or ()) or "none"
            raise BadRequest(f"{name} has no column {column!r}, but {there}: name the one with the URLs by --column")
        for row in rows:
            if url := (row[column] or "").strip():
                yield url


def _warn(accepted: Accepted) -> None:
    if accepted.duplicates:
        err.print(f"{accepted.duplicates} were named more than once, and are read once", markup=False)
    for fault in accepted.invalid[:5]:
        err.print(f"not accepted, line {fault.index + 1}: {fault.code} {fault.url}", markup=False, soft_wrap=True)
    if accepted.invalid_count > 5:
        err.print(f"… and {accepted.invalid_count - 5} more were not accepted", markup=False)


def _go_on(client: Emissary, begun: Begun, output: str | None, *, wait: bool, json: bool, server: str | None) -> None:
    if not wait:
        tell(begun) if json else print(begun.id)
        err.print(come_back(begun.id, output, server), markup=False, soft_wrap=True)
        return
    status = follow(client, begun.id, output=output, server=server)
    if json:
        tell(status)
    elif output is None:
        print(begun.id)
    raise typer.Exit(exit_of(status))
