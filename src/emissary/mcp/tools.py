"""The tools: what each is called, what it takes, and what it says."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import msgspec

from emissary.client import AsyncEmissary
from emissary.client.answers import BatchStatus, Document, Outcome, Result, Scraped
from emissary.compose import the_clock
from emissary.model.errors import BadRequest

__all__ = ["TOOLS", "Tool"]

Work = Callable[[AsyncEmissary, dict[str, Any]], Awaitable[str]]

_MOST_OF_A_PAGE = 4_000  # characters of one result among others; `read` has all of it
_ENOUGH = 16_000
_LONGEST_WAIT = 120


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as a model sees it, and what it does."""

    name: str
    description: str
    takes: Mapping[str, Any]
    needs: tuple[str, ...]
    work: Work
    only_reads: bool = True

    def described(self) -> dict[str, Any]:
        schema = {
            "type": "object",
            "properties": self.takes,
            "required": list(self.needs),
            "additionalProperties": False,
        }
        hints = {"readOnlyHint": self.only_reads, "openWorldHint": True}
        return {"name": self.name, "description": self.description, "inputSchema": schema, "annotations": hints}

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Raise BadRequest where something is missing, or is not known; the API judges the rest."""
        if missing := [name for name in self.needs if name not in arguments]:
            raise BadRequest(f"{self.name} needs {', '.join(missing)}")
        if unknown := sorted(set(arguments) - set(self.takes)):
            raise BadRequest(f"{self.name} does not take {', '.join(unknown)}, but {', '.join(self.takes)}")
        for name, value in arguments.items():
            if self.takes[name].get("type") == "string" and not isinstance(value, str):
                raise BadRequest(f"{name} is a string")


_URL = {"type": "string", "description": "Absolute, http or https."}
_ID = {"type": "string", "description": "The id of a batch (bat_…) or a crawl (crl_…)."}
_PAGE = {
    "formats": {
        "type": "array",
        "items": {"enum": ["markdown", "text", "html", "links", "images", "metadata", "structured", "fields"]},
        "description": "The forms in which a page is wanted; markdown unless given.",
    },
    "fields": {"type": "object", "description": 'Typed fields by selector, as in {"price": {"css": ".price"}}.'},
    "onlyMainContent": {"type": "boolean", "description": "Leave out navigation and the like; true unless given."},
    "maxAge": {"type": "integer", "description": "Seconds that a copy may be old that is given instead of the page."},
}
_WAIT = {
    "waitSeconds": {
        "type": "integer",
        "minimum": 0,
        "maximum": _LONGEST_WAIT,
        "description": "How long to wait for its end; 10 unless given.",
    }
}


async def _scrape(client: AsyncEmissary, asked: dict[str, Any]) -> str:
    return _page(await client.scrape(**asked))


async def _read(client: AsyncEmissary, asked: dict[str, Any]) -> str:
    return _page(await client.job(asked["id"]))


async def _map(client: AsyncEmissary, asked: dict[str, Any]) -> str:
    site = await client.map(**asked)
    lines = [f"{page.url}  {page.title or ''}".rstrip() for page in site.links]
    lines += [f"could not be read: {each.url}: {_said(each.outcome)}" for each in site.unread]
    told = "all that was found" if site.complete else "there may be more: time or the limit ended it"
    return "\n".join([f"{len(site.links)} pages, {told}", *lines])


async def _crawl(client: AsyncEmissary, asked: dict[str, Any]) -> str:
    seconds = _patience(asked)
    begun = await client.crawl(**asked)
    return await _watched(client, begun.id, seconds)


async def _batch(client: AsyncEmissary, asked: dict[str, Any]) -> str:
    seconds, urls = _patience(asked), asked.pop("urls")
    if not isinstance(urls, list):
        raise BadRequest("urls is a list of URLs")
    accepted = await client.batch(urls, **asked)
    faults = [f"not accepted: {fault.url}: {fault.code}" for fault in accepted.invalid]
    return "\n".join([await _watched(client, accepted.id, seconds), *faults])


async def _status(client: AsyncEmissary, asked: dict[str, Any]) -> str:
    return await _watched(client, asked["id"], _patience(asked))


async def _results(client: AsyncEmissary, asked: dict[str, Any]) -> str:
    """As many results as fit into one answer; the cursor of the last leads on."""
    told, size, cursor, more = list[str](), 0, asked.get("after", ""), False
    async with aclosing(client.results(asked["id"], cursor)) as results:
        async for result in results:
            if size > _ENOUGH:
                more = True
                break
            told.append(_result(result))
            size += len(told[-1])
            cursor = result.cursor
    status = await client.status(asked["id"])
    if more or not status.has_ended:
        told.append(f"There is more: call results with id {status.id} and after {cursor!r}. {_standing(status)}")
    else:
        told.append(f"These were the last. {_standing(status)}")
    return "\n\n".join(told)


async def _cancel(client: AsyncEmissary, asked: dict[str, Any]) -> str:
    return _standing(await client.cancel(asked["id"]))


def _patience(asked: dict[str, Any]) -> float:
    seconds = asked.pop("waitSeconds", 10)
    if not isinstance(seconds, int | float) or not 0 <= seconds <= _LONGEST_WAIT:
        raise BadRequest(f"waitSeconds is a number from 0 to {_LONGEST_WAIT}")
    return seconds


async def _watched(client: AsyncEmissary, batch: str, seconds: float) -> str:
    clock = the_clock()
    until = clock.monotonic() + seconds
    standing = ""
    async with aclosing(client.watch(batch)) as looks:
        async for status in looks:
            standing = _standing(status)
            if clock.monotonic() >= until:
                break
    return f"{standing} Call results with id {batch} for the pages, or status to wait on."


def _standing(status: BatchStatus) -> str:
    counts = status.counts
    what, came = ("pages and lists of pages", "pages came") if status.is_crawl else ("pages", "came")
    told = f"{status.id} is {status.status}: {counts.ended} of {status.total} {what} have ended, "
    told += f"{status.came} {came}, {counts.refused} were refused, {counts.failed} failed."
    return told if status.eta is None else f"{told} It will be done at {status.eta:%H:%M:%S} UTC, at its hosts' pace."


def _page(scraped: Scraped) -> str:
    if scraped.outcome is None:
        why = "" if scraped.why_waiting is None else f" ({scraped.why_waiting.reason} in {scraped.why_waiting.lane})"
        return f"{scraped.id} is {scraped.status}{why}. Call read with id {scraped.id} later."
    head = f"id: {scraped.id}\nstatus: {scraped.status}\noutcome: {_said(scraped.outcome)}"
    return head if scraped.document is None else f"{head}\n{_content(scraped.document)}"


def _result(result: Result) -> str:
    head = f"## {result.url}\nid: {result.id}\nstatus: {result.status}"
    head += "" if result.outcome is None else f"\noutcome: {_said(result.outcome)}"
    if result.document is None:
        return head
    text = _content(result.document)
    if len(text) > _MOST_OF_A_PAGE:
        left = len(text) - _MOST_OF_A_PAGE
        text = f"{text[:_MOST_OF_A_PAGE]}\n[{left} characters more: call read with id {result.id}]"
    return f"{head}\n{text}"


def _said(outcome: Outcome) -> str:
    return f"{outcome.kind} {outcome.code}" + (f" ({outcome.detail})" if outcome.detail else "")


def _content(document: Document) -> str:
    """What was asked for: text as it is, everything else as JSON."""
    parts = msgspec.to_builtins(document)
    about = [f"{name}: {parts.pop(name)}" for name in ("title", "url", "language") if parts.get(name)]
    texts = [str(parts.pop(name)) for name in ("markdown", "text", "html", "rawHtml") if name in parts]
    rest = {name: value for name, value in parts.items() if name not in ("id", "sourceUrl")}
    told = ["\n".join(about), *texts, *([msgspec.json.encode(rest).decode()] if rest else [])]
    return "\n\n".join(told)


_POLITE = "Robots.txt and each host's pace are kept; a page that is refused is an answer with its reason."
_CRAWLED = {"limit": {"type": "integer", "description": "How many pages at most; 1,000 unless given."}}
_SITEMAP = {"sitemap": {"enum": ["include", "skip", "only"], "description": "Whether sitemaps are read as well."}}
_PATTERNS = {"type": "array", "items": {"type": "string"}, "description": "Regular expressions on path and query."}

TOOLS = {
    tool.name: tool
    for tool in (
        Tool("scrape", f"Read one web page. {_POLITE}", {"url": _URL, **_PAGE}, ("url",), _scrape),
        Tool(
            "read",
            "Read again, whole, a page that was read before.",
            {"id": {"type": "string", "description": "The id of a page's job (job_…)."}},
            ("id",),
            _read,
        ),
        Tool(
            "map",
            "List the pages of a site by its sitemaps and links, without reading them.",
            {
                "url": _URL,
                "search": {"type": "string", "description": "Words that are all in a page's URL or title."},
                "limit": {"type": "integer", "description": "How many pages at most; 5,000 unless given."},
                "includeSubdomains": {"type": "boolean"},
                **_SITEMAP,
            },
            ("url",),
            _map,
        ),
        Tool(
            "crawl",
            f"Read a site from one page on, in the background. {_POLITE}",
            {
                "url": _URL,
                "includePaths": _PATTERNS,
                "excludePaths": _PATTERNS,
                "maxDepth": {"type": "integer", "description": "How many links away from the start."},
                **_CRAWLED,
                **_SITEMAP,
                **_PAGE,
                **_WAIT,
            },
            ("url",),
            _crawl,
            only_reads=False,
        ),
        Tool(
            "batch",
            f"Read many pages, in the background. {_POLITE}",
            {"urls": {"type": "array", "items": {"type": "string"}}, **_PAGE, **_WAIT},
            ("urls",),
            _batch,
            only_reads=False,
        ),
        Tool("status", "See how far a batch or a crawl is.", {"id": _ID, **_WAIT}, ("id",), _status),
        Tool(
            "results",
            "Read the pages of a batch or a crawl that have ended, some at a time.",
            {"id": _ID, "after": {"type": "string", "description": "The cursor that an earlier answer named."}},
            ("id",),
            _results,
        ),
        Tool("cancel", "End a batch or a crawl.", {"id": _ID}, ("id",), _cancel, only_reads=False),
    )
}
