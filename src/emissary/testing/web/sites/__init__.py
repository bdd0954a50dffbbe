"""Which host serves what. A new site is one more line in `build_sites` and one more name in `NAMES`."""

from collections.abc import Callable
from datetime import datetime

from emissary.testing.web.addresses import Addresses
from emissary.testing.web.log import Seen
from emissary.testing.web.site import Site
from emissary.testing.web.sites.app import app_site
from emissary.testing.web.sites.hooks import hooks_site
from emissary.testing.web.sites.listed import listed_sites
from emissary.testing.web.sites.log import log_site
from emissary.testing.web.sites.moved import moved_site
from emissary.testing.web.sites.news import news_site
from emissary.testing.web.sites.numbered import numbered_site
from emissary.testing.web.sites.rules import rules_sites
from emissary.testing.web.sites.shop import shop_site
from emissary.testing.web.sites.trouble import trouble_site
from emissary.testing.web.sites.walls import walls_site

__all__ = ["NAMES", "build_sites", "numbered_site"]

# The order gives the addresses: a new name goes to the end.
NAMES = (
    "shop",
    "news",
    "app",
    "moved",
    "trouble",
    "closed",
    "norobots",
    "brokenrobots",
    "slowrobots",
    "movedrobots",
    "bigrobots",
    "hooks",
    "log",
    "walls",
    "lentrobots",
    "farrobots",
    "ringrobots",
    "busyrobots",
    "usagerobots",
    "listed",
    "longlisted",
)


def build_sites(addresses: Addresses, seen: Seen, now: Callable[[], datetime]) -> dict[str, Site]:
    """The named sites of one local web, by name."""
    sites = (
        shop_site(),
        news_site(),
        app_site(),
        moved_site(addresses),
        trouble_site(now),
        *rules_sites(addresses),
        hooks_site(),
        log_site(seen),
        walls_site(),
        *listed_sites(addresses),
    )
    return {site.name: site for site in sites}
