"""A small web of many hosts on this machine, for tests, benchmarks and examples: nothing of it needs the internet.

In a test: `async with TestWeb.start() as web: web.url("shop", "/product/1")`.
From another program: `TestWebProcess`, or `python -m emissary.testing.web`.
"""

from emissary.testing.web.addresses import Addresses
from emissary.testing.web.log import Exchange, HostLog, Seen
from emissary.testing.web.process import TestWebProcess
from emissary.testing.web.server import TestWeb
from emissary.testing.web.site import Route, Site

__all__ = ["Addresses", "Exchange", "HostLog", "Route", "Seen", "Site", "TestWeb", "TestWebProcess"]
