"""What came of a page, as a document of the other format."""

from typing import Any

import msgspec

from emissary.model.ids import JobId
from emissary.model.pages import Code, Outcome, Receipt
from emissary.products.scrape.order import ScrapeResult

__all__ = ["ABSENT", "document_of", "read_outcome", "refused_document"]

# The names that clients of the format have for what can go wrong; others go by ours, in capitals.
ABSENT = {
    Code.DNS: "SCRAPE_DNS_RESOLUTION_ERROR",
    Code.TLS: "SCRAPE_SSL_ERROR",
    Code.TIMEOUT: "SCRAPE_TIMEOUT",
}

read_outcome = msgspec.json.Decoder(Outcome).decode
_decode = msgspec.json.Decoder(ScrapeResult).decode


def document_of(job: JobId, outcome: Outcome, body: bytes) -> dict[str, Any]:
    """A page that came, in the formats that were asked for."""
    left = _decode(body)
    document = left.document
    if document is None:
        return {"metadata": {"statusCode": outcome.http_status, "scrapeId": job}}
    texts = {"markdown": document.markdown, "html": document.html, "rawHtml": document.raw_html}
    lists = {"links": document.links, "images": document.images}
    told: dict[str, Any] = {name: text for name, text in texts.items() if text is not None}
    # Here a link has its text beside it; there it is an address and nothing more.
    told |= {name: [each.url for each in found] for name, found in lists.items() if found is not None}
    if outcome.code is not Code.OK:
        told["warning"] = outcome.detail or outcome.code.value
    about = {"sourceURL": document.source_url, "url": document.url, "statusCode": outcome.http_status}
    told["metadata"] = {
        **(document.metadata or {}),
        **about,
        "scrapeId": job,
        **_way_of(left.receipt),
        "creditsUsed": 1,
    }
    return told


def _way_of(receipt: Receipt | None) -> dict[str, Any]:
    if receipt is None:
        return {}
    is_copy = receipt.cache != "miss"
    return {
        "proxyUsed": "basic",
        "cacheState": "hit" if is_copy else "miss",
        **({"cachedAt": receipt.fetched_at} if is_copy else {}),
    }


def refused_document(job: JobId, source_url: str, outcome: Outcome) -> dict[str, Any]:
    """A page that the site did not give: all that is known is the no, and what was said with it."""
    said = outcome.detail or outcome.code.value
    status = {} if outcome.http_status is None else {"statusCode": outcome.http_status}
    about = {"sourceURL": source_url, "url": source_url, **status, "scrapeId": job, "creditsUsed": 0, "error": said}
    return {"warning": f"refused ({outcome.code.value}): {said}", "metadata": about}
