"""Scraping: a URL goes in, a document with its receipt comes out."""

from emissary.products.scrape.handler import ScrapeHandler, ScrapeTools
from emissary.products.scrape.order import ScrapeOrder, ScrapeResult, check_options
from emissary.products.scrape.scrapes import Scrapes

__all__ = ["ScrapeHandler", "ScrapeOrder", "ScrapeResult", "ScrapeTools", "Scrapes", "check_options"]
