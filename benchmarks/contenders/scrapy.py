"""Scrapy with robots.txt obeyed and as many hosts at once as the others, into a JSON Lines feed."""

import json
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response

from benchmarks.measuring import Cost, Meter, Task, play
from benchmarks.workload import CSS, check_sample

_QUERIES = {name: f"{css}::attr({attr})" if attr else f"{css}::text" for name, (css, attr) in CSS.items()}


class _Spider(scrapy.Spider):
    name = "batch"
    urls: list[str]

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.urls:
            yield scrapy.Request(url)

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        item: dict[str, Any] = {name: response.css(query).get() for name, query in _QUERIES.items()}
        yield {"url": response.url, **item, "price": float(item["price"]), "rating": float(item["rating"])}


def _settings(feed: Path, gap: float) -> dict[str, Any]:
    return {
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": 100,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "DOWNLOAD_DELAY": gap,
        "RANDOMIZE_DOWNLOAD_DELAY": False,
        "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
        "ASYNCIO_EVENT_LOOP": "uvloop.Loop" if "--uvloop" in sys.argv else None,
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "ERROR",
        "FEEDS": {str(feed): {"format": "jsonlines"}},
    }


def _run(task: Task) -> Cost:
    feed = task.folder / "items.jsonl"
    meter = Meter()
    process = CrawlerProcess(_settings(feed, task.gap))
    process.crawl(_Spider, urls=task.urls)
    process.start()
    cost = meter.read(len(task.urls))
    items = [json.loads(line) for line in feed.read_text(encoding="utf-8").splitlines()]
    check_sample(task.urls, {item.pop("url"): item for item in items})
    return cost


if __name__ == "__main__":
    play(_run)
