"""Every verb of the API, written once: awaited as they are here, or driven from plain code by `blocking`."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, Unpack
from urllib.parse import quote

import msgspec

from emissary.client.answers import (
    Accepted,
    Account,
    Again,
    BatchStatus,
    Begun,
    Delivery,
    Document,
    Item,
    Job,
    JobLine,
    Key,
    NewKey,
    NewWebhook,
    Plan,
    Replayed,
    Result,
    Scraped,
    SiteMap,
    Trial,
    UsageRow,
    Webhook,
)
from emissary.client.calling import NDJSON, Call, Caller, Patience
from emissary.client.errors import ApiError, ServerUnreachable
from emissary.client.http_wire import HttpWire
from emissary.client.lines import Pages, as_pieces, can_be_had_again
from emissary.client.opening import inside
from emissary.client.options import BatchOptions, CrawlOptions, MapOptions, ScrapeOptions, spelt
from emissary.client.wire import Wire
from emissary.compose import the_chance, the_clock
from emissary.model.errors import BadRequest
from emissary.settings import server_of

__all__ = ["AsyncEmissary"]

T = TypeVar("T")
Progress = Callable[[BatchStatus], object]

_NOUNS = {"bat": "batch", "crl": "crawl"}
_DEFAULT_TIMEOUTS = {"scrape": 30_000, "map": 30_000, "plan": 10_000}
_FIRST_LOOK, _LAST_LOOK = 0.1, 2.0
_AT_ONCE = 1_000
_LONGEST_TRIAL = 30.0  # seconds


class _Listed(msgspec.Struct):
    data: list[msgspec.Raw]
    next: str | None = None


class _Marked(msgspec.Struct):
    cursor: str


_cursor_of = msgspec.json.Decoder(_Marked).decode
_decode_result = msgspec.json.Decoder(Result).decode


class AsyncEmissary:
    """A client of one server; `async with AsyncEmissary(url, key) as emissary:`.

    Without a URL or a key, EMISSARY_URL and EMISSARY_API_KEY are taken. `AsyncEmissary.open()` needs no server.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        patience: Patience = Patience(),  # noqa: B008 - a value
        wire: Wire | None = None,
    ) -> None:
        if wire is None:
            url, key = server_of(url, key)
            wire = HttpWire(url, the_clock())
        self._caller = Caller(wire, key, patience=patience, chance=the_chance())

    @classmethod
    @asynccontextmanager
    async def open(cls, data_dir: Path | str | None = None, **settings: Any) -> AsyncIterator[Self]:
        """Everything in this process, without a server; the settings are those of docs/settings.md, in small letters.

        What is begun and not waited for goes on when the same directory is opened again, here or by a server.
        """
        async with inside(data_dir, **settings) as wire, cls(wire=wire) as client:
            yield client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Give back the connections."""
        await self._caller.wire.close()

    # One page

    async def scrape(self, url: str, **options: Unpack[ScrapeOptions]) -> Scraped:
        """Read one page, and wait for it as long as `timeout_ms` says; then it may still be `waiting`."""
        return await self._post("scrape", Scraped, {"url": url, **spelt(**options)})

    async def submit(self, url: str, **options: Unpack[ScrapeOptions]) -> Scraped:
        """Have one page read some time: the answer is the job, as it waits."""
        return await self._post("scrape", Scraped, {"url": url, "async": True, **spelt(**options)})

    async def job(self, job: str) -> Job:
        """A job as it is now."""
        return await self._caller.ask(Call("GET", f"/v1/jobs/{quote(job, safe='')}"), Job)

    async def jobs(
        self, status: str | None = None, *, batch: str | None = None, host: str | None = None
    ) -> AsyncGenerator[JobLine, None]:
        """The jobs of the account, the newest first: those that are so, of this batch, at this host; or all."""
        async with aclosing(self._pages("/v1/jobs", JobLine, status=status, batch=batch, host=host)) as jobs:
            async for job in jobs:
                yield job

    async def wait_for_job(self, job: str) -> Job:
        """A job, once it has ended."""
        look = _FIRST_LOOK
        while not (found := await self.job(job)).has_ended:
            await self._caller.wire.sleep(look)
            look = min(look * 1.5, _LAST_LOOK)
        return found

    async def cancel_job(self, job: str) -> Job:
        """End a job that has not ended."""
        return await self._caller.ask(Call("DELETE", f"/v1/jobs/{quote(job, safe='')}"), Job)

    async def receipt(self, receipt: str) -> dict[str, Any]:
        """Who asked for a page, under which rule, what came and when."""
        return await self._caller.ask(Call("GET", f"/v1/receipts/{quote(receipt, safe='')}"), dict[str, Any])

    async def document(self, document: str) -> Document:
        """A document by its own id, as its job left it."""
        return await self._caller.ask(Call("GET", f"/v1/documents/{quote(document, safe='')}"), Document)

    async def capture(self, document: str) -> bytes:
        """The exchange that a document was made from, as WARC. It is kept for a day, and not of every page."""
        path = f"/v1/documents/{quote(document, safe='')}/capture"
        return await self._caller.fetch(Call("GET", path, accept="application/warc"))

    # Many pages

    async def batch(self, pages: Pages, **options: Unpack[BatchOptions]) -> Accepted:
        """Have many pages read: URLs or objects with `url` and `metadata`, or a file with one a line.

        They are sent as they come, so that a million take no memory here, and are on disk there when this returns.
        """
        pieces = as_pieces(spelt(**options), pages)
        call = Call("POST", "/v1/batch", pieces=pieces, is_repeatable=can_be_had_again(pages))
        return await self._caller.ask(call, Accepted)

    async def crawl(self, url: str, **options: Unpack[CrawlOptions]) -> Begun:
        """Have a site read, from one page on."""
        return await self._post("crawl", Begun, {"url": url, **spelt(**options)})

    async def status(self, batch: str) -> BatchStatus:
        """A batch or a crawl as it is now."""
        return await self._caller.ask(Call("GET", _path(batch)), BatchStatus)

    async def pause(self, batch: str) -> BatchStatus:
        """Begin no further page."""
        return await self._caller.ask(Call("POST", _path(batch, "/pause")), BatchStatus)

    async def resume(self, batch: str) -> BatchStatus:
        """Go on where it was paused."""
        return await self._caller.ask(Call("POST", _path(batch, "/resume")), BatchStatus)

    async def retry(self, batch: str, only: Literal["failed", "refused"] = "failed") -> Again:
        """Read once more what failed, or what was refused."""
        return await self._caller.ask(Call("POST", _path(batch, "/retry"), body={"only": only}), Again)

    async def cancel(self, batch: str) -> BatchStatus:
        """End it: what has not been read will not be."""
        return await self._caller.ask(Call("DELETE", _path(batch)), BatchStatus)

    async def watch(self, batch: str) -> AsyncGenerator[BatchStatus, None]:
        """A batch or a crawl as it is now, and again whenever some time has passed; the last one has ended."""
        look = _FIRST_LOOK
        while True:
            found = await self.status(batch)
            yield found
            if found.has_ended:
                return
            await self._caller.wire.sleep(look)
            look = min(look * 1.5, _LAST_LOOK)

    async def wait(self, batch: str, progress: Progress | None = None) -> BatchStatus:
        """A batch or a crawl, once it has ended; `progress` is called with each look at it before."""
        async with aclosing(self.watch(batch)) as looks:
            async for found in looks:
                if progress is not None:
                    progress(found)
        return found

    async def items(self, batch: str, status: str | None = None) -> AsyncGenerator[Item, None]:
        """The pages in the order in which they came, without what they left behind."""
        async with aclosing(self._pages(_path(batch, "/items"), Item, status=status)) as items:
            async for item in items:
                yield item

    async def errors(self, batch: str) -> AsyncGenerator[Item, None]:
        """The pages that failed or were refused."""
        async with aclosing(self._pages(_path(batch, "/errors"), Item)) as items:
            async for item in items:
                yield item

    async def results(self, batch: str, after: str = "") -> AsyncGenerator[Result, None]:
        """The pages that have ended by now, as they did, with what they left behind; `after` is a cursor of one."""
        async with aclosing(self.result_lines(batch, after)) as lines:
            async for line in lines:
                yield _decode_result(line)

    async def result_lines(self, batch: str, after: str = "") -> AsyncGenerator[bytes, None]:
        """The same as the server sends it: a line of JSON for each, with its `cursor`.

        Where the stream is cut, it is asked for again behind the last line that came whole.
        """
        tried = 0
        while True:
            try:
                async with aclosing(self._lines(batch, after)) as lines:
                    async for line in lines:
                        after, tried = _cursor_of(line).cursor, 0
                        yield line
            except (ApiError, ServerUnreachable) as error:
                tried += 1
                await self._caller.rest(error, tried)
            else:
                return

    # Sites, and the account

    async def map(self, url: str, **options: Unpack[MapOptions]) -> SiteMap:
        """List the pages of a site, without reading them."""
        return await self._post("map", SiteMap, {"url": url, **spelt(**options)})

    async def plan(
        self,
        urls: list[str] | None = None,
        *,
        url: str | None = None,
        limit: int | None = None,
        timeout_ms: int | None = None,
    ) -> Plan:
        """What reading these pages would come to, or a crawl from one page on; none of them is asked for."""
        return await self._post("plan", Plan, spelt(urls=urls, url=url, limit=limit, timeout_ms=timeout_ms))

    async def account(self) -> Account:
        """What the account of the key may do, and what it has in line."""
        return await self._caller.ask(Call("GET", "/v1/account"), Account)

    async def usage(
        self, first: date | None = None, last: date | None = None, by: Literal["day", "kind", "host"] = "day"
    ) -> AsyncGenerator[UsageRow, None]:
        """What was used from one day to another, both included; this month, where nothing is said."""
        query = {"from": first, "to": last, "by": by}
        async with aclosing(self._pages("/v1/usage", UsageRow, **query)) as rows:
            async for row in rows:
                yield row

    # Keys of the account, for a key with the scope `keys`

    async def keys(self) -> AsyncGenerator[Key, None]:
        """All keys that the account has had, those that open nothing any more as well; none with its secret."""
        async with aclosing(self._pages("/v1/keys", Key)) as keys:
            async for key in keys:
                yield key

    async def create_key(
        self, name: str, *, scopes: Iterable[str] | None = None, expires_at: datetime | None = None
    ) -> NewKey:
        """Make a key. Its secret is in this answer and nowhere else; it can do no more than your own."""
        wanted = None if scopes is None else list(scopes)
        return await self._post("keys", NewKey, spelt(name=name, scopes=wanted, expires_at=expires_at))

    async def rotate_key(self, key: str, *, grace_seconds: int | None = None) -> NewKey:
        """Make a key in place of this one, which opens for so long still; a day, where nothing is said."""
        return await self._post(f"keys/{quote(key, safe='')}/rotate", NewKey, spelt(grace_seconds=grace_seconds))

    async def revoke_key(self, key: str) -> Key:
        """Let the key open nothing from now on."""
        return await self._caller.ask(Call("DELETE", f"/v1/keys/{quote(key, safe='')}"), Key)

    # Webhooks of the account

    async def webhooks(self) -> AsyncGenerator[Webhook, None]:
        """All webhooks of the account."""
        async with aclosing(self._pages("/v1/webhooks", Webhook)) as webhooks:
            async for webhook in webhooks:
                yield webhook

    async def create_webhook(
        self,
        url: str,
        *,
        events: Iterable[str] | None = None,
        secret: str | None = None,
        description: str | None = None,
        active: bool | None = None,
    ) -> NewWebhook:
        """Name a receiver of these events, or else of what refers to it. Its secret is shown this once."""
        wanted = None if events is None else list(events)
        body = spelt(url=url, events=wanted, secret=secret, description=description, active=active)
        return await self._post("webhooks", NewWebhook, body)

    async def delete_webhook(self, webhook: str) -> Webhook:
        """Tell nothing there any more, and forget its log."""
        return await self._caller.ask(Call("DELETE", f"/v1/webhooks/{quote(webhook, safe='')}"), Webhook)

    async def deliveries(self, webhook: str, state: str | None = None) -> AsyncGenerator[Delivery, None]:
        """What was told there, or is on its way, the latest first."""
        path = f"/v1/webhooks/{quote(webhook, safe='')}/deliveries"
        async with aclosing(self._pages(path, Delivery, state=state)) as deliveries:
            async for delivery in deliveries:
                yield delivery

    async def replay(self, webhook: str, *, delivery: str | None = None, since: datetime | None = None) -> Replayed:
        """Tell one delivery once more, or all that died since then."""
        verb = f"webhooks/{quote(webhook, safe='')}/replay"
        return await self._post(verb, Replayed, spelt(delivery=delivery, since=since))

    async def test_webhook(self, webhook: str) -> Trial:
        """Send a `webhook.test` event now, once, and say what came back."""
        call = Call("POST", f"/v1/webhooks/{quote(webhook, safe='')}/test", takes=_LONGEST_TRIAL)
        return await self._caller.ask(call, Trial)

    async def _post(self, verb: str, kind: type[T], body: dict[str, Any]) -> T:
        takes = body.get("timeoutMs", _DEFAULT_TIMEOUTS.get(verb, 0)) / 1000
        return await self._caller.ask(Call("POST", f"/v1/{verb}", body=body, takes=takes), kind)

    async def _pages(self, path: str, kind: type[T], **query: object) -> AsyncGenerator[T, None]:
        """Page after page of a list, each asked for when the one before has been read."""
        after: str | None = ""
        while after is not None:
            call = Call("GET", path, {**query, "after": after, "limit": _AT_ONCE})
            listed = await self._caller.ask(call, _Listed)
            for each in listed.data:
                yield msgspec.json.decode(each, type=kind)
            after = listed.next

    async def _lines(self, batch: str, after: str) -> AsyncGenerator[bytes, None]:
        call = Call("GET", _path(batch, "/results"), {"after": after}, accept=NDJSON)
        rest = b""
        async with aclosing(self._caller.stream(call)) as pieces:
            async for piece in pieces:
                *whole, rest = (rest + piece).split(b"\n")
                for line in whole:
                    yield line


def _path(batch: str, part: str = "") -> str:
    noun = _NOUNS.get(batch.partition("_")[0])
    if noun is None:
        raise BadRequest(f"{batch!r} is no batch and no crawl: their names begin with bat_ and crl_")
    return f"/v1/{noun}/{quote(batch, safe='')}{part}"
