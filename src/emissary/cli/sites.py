"""`emissary map` and `emissary plan`: what a site has, and what reading it would come to."""

from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from emissary.cli.batch import pages_in
from emissary.cli.output import Exit, complain, err, tell
from emissary.cli.reaching import Json, Server, Sitemap, reach
from emissary.client.answers import Plan, SiteMap
from emissary.model.errors import BadRequest

__all__ = ["map_site", "plan"]

_MOST_PLANNED = 200_000  # more do not fit into one request
_MOST_SHOWN = 20

out = Console(highlight=False)


class _Page(msgspec.Struct):
    url: str


def map_site(
    url: Annotated[str, typer.Argument(help="A page of the site.")],
    *,
    search: Annotated[str | None, typer.Option(help="Only pages with each of these words in URL or title.")] = None,
    limit: Annotated[int | None, typer.Option(help="How many pages at most; 5,000 unless given.")] = None,
    sitemap: Sitemap = None,
    subdomains: Annotated[bool, typer.Option("--subdomains", help="Pages on subdomains as well.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait.", min=0.1, max=300)] = 30.0,
    json: Json = False,
    server: Server = None,
) -> None:
    """List the pages of a site, a URL a line, without reading them."""
    asked = {
        "search": search,
        "limit": limit,
        "sitemap": sitemap,
        "include_subdomains": subdomains or None,
        "timeout_ms": int(timeout * 1000),
    }
    options: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    with reach(server) as client, err.status(f"mapping {url} …"):
        site = client.map(url, **options)
    if json:
        tell(site)
    else:
        for page in site.links:
            print(page.url)
    raise typer.Exit(_exit_of(site))


def _exit_of(site: SiteMap) -> Exit:
    for each in site.unread[:_MOST_SHOWN]:
        complain(f"{each.url} could not be read: {each.outcome.code}: {each.outcome.detail}")
    if site.links:
        if not site.complete:
            complain("there may be more: time or the limit ended the map")
        return Exit.OK
    refused = any(each.outcome.kind == "refusal" for each in site.unread)
    return Exit.REFUSED if refused else Exit.UNREACHABLE


def plan(
    what: Annotated[str, typer.Argument(help="A file of URLs, - for standard input, or a URL to crawl from.")],
    *,
    column: Annotated[str, typer.Option(help="The column of a .csv file that has the URLs.")] = "url",
    limit: Annotated[int | None, typer.Option(help="How many pages the crawl would read; 1,000 unless given.")] = None,
    json: Json = False,
    server: Server = None,
) -> None:
    """Say which pages may be read, how long politeness takes and what it costs. None of them is asked for."""
    is_url = what.lower().startswith(("http://", "https://")) and not Path(what).exists()
    urls = None if is_url else _urls(what, column)
    with reach(server) as client, err.status("reading house rules …"):
        planned = client.plan(url=what, limit=limit) if urls is None else client.plan(urls)
    if json:
        tell(planned)
    else:
        _show(planned)


def _urls(file: str, column: str) -> list[str]:
    found = [_url(line) for line in islice(pages_in(file, column), _MOST_PLANNED + 1)]
    if not found:
        raise BadRequest(f"{file} names no page")
    if len(found) > _MOST_PLANNED:
        raise BadRequest(f"{file} names more than {_MOST_PLANNED:,} pages: plan a part of them")
    return found


def _url(line: bytes | str) -> str:
    text = line if isinstance(line, str) else line.decode(errors="replace")
    if not text.startswith("{"):
        return text
    try:
        return msgspec.json.decode(text, type=_Page).url
    except msgspec.DecodeError as error:
        raise BadRequest(f"this line is no object with a `url`: {text[:200]}") from error


def _show(planned: Plan) -> None:
    refused = f", {planned.refused_count} of them refused" if planned.refused_count else ""
    out.print(f"{planned.urls} pages, hosts: {planned.host_count}{refused}: at most {planned.credits} credits")
    out.print(
        f"at least {planned.seconds:,.0f} s at the pace of the slowest host, until {planned.eta:%Y-%m-%d %H:%M} UTC"
    )
    table = Table("host", "pages", "refused", "robots.txt", "gap", "seconds", box=None)
    for host in planned.hosts[:_MOST_SHOWN]:
        counts = f"{host.urls}", f"{host.refused}"
        table.add_row(host.host, *counts, host.robots, f"{host.gap:g} s", f"{host.seconds:,.0f}")
    out.print(table)
    for page in planned.refused[:_MOST_SHOWN]:
        out.print(f"refused  {page.url}  {page.code}: {page.detail}", markup=False, soft_wrap=True)
    for fault in planned.invalid[:_MOST_SHOWN]:
        out.print(f"invalid  {fault.url}  {fault.code}", markup=False, soft_wrap=True)
