"""The catalogue of the shop: what product number n is, what it costs, and whether it can be had."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from emissary.testing.web.pages.plain import draw, pick

__all__ = ["CATEGORIES", "Availability", "Product", "product"]

# Category, the goods in it, and what they may be made of.
CATEGORIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Kitchen": (
        ("Bread Tin", "Tea Kettle", "Frying Pan", "Carving Board", "Pepper Mill", "Stock Pot"),
        ("Cast Iron", "Enamel", "Copper", "Beech", "Stainless"),
    ),
    "Garden": (
        ("Pruning Shears", "Watering Can", "Seed Drawer", "Hand Trowel", "Cold Frame", "Rain Gauge"),
        ("Zinc", "Ash", "Forged", "Larch", "Brass"),
    ),
    "Outdoors": (
        ("Walking Boots", "Rain Jacket", "Map Case", "Camp Stove", "Rucksack", "Field Flask"),
        ("Waxed Cotton", "Leather", "Titanium", "Canvas", "Merino"),
    ),
    "Home": (
        ("Wool Blanket", "Desk Lamp", "Wall Clock", "Reading Stool", "Door Mat", "Coat Rack"),
        ("Lambswool", "Oak", "Walnut", "Linen", "Brushed Steel"),
    ),
    "Workshop": (
        ("Block Plane", "Marking Gauge", "Bench Vice", "Tool Roll", "Oil Stone", "Spokeshave"),
        ("Bronze", "Rosewood", "Hardened Steel", "Waxed Canvas", "Maple"),
    ),
    "Cycling": (
        ("Bicycle Bell", "Saddle Bag", "Track Pump", "Hub Dynamo", "Chain Guard", "Dress Saddle"),
        ("Polished Brass", "Bridle Leather", "Alloy", "Duck Canvas", "Chrome"),
    ),
}
_BRANDS = ("Harrow & Pike", "Nordlund", "Tessaly", "Old Quay", "Brannock", "Fjellverk", "Marlowe", "Quillon", "Ostara")
_LINES = ("Harbour", "Moorland", "No. 4", "Lantern", "Fenwick", "Solstice", "Drover", "Orchard", "Tideway", "Hollin")
_FIRST_CHANGE = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)


class Availability(StrEnum):
    """Whether it can be had, in the words of schema.org."""

    IN_STOCK = "InStock"
    LIMITED = "LimitedAvailability"
    PRE_ORDER = "PreOrder"
    OUT_OF_STOCK = "OutOfStock"

    @property
    def words(self) -> str:
        """What the shop says to people."""
        return {
            Availability.IN_STOCK: "In stock, sent within two working days",
            Availability.LIMITED: "Only a few left",
            Availability.PRE_ORDER: "Order now, sent when it arrives",
            Availability.OUT_OF_STOCK: "Sold out",
        }[self]


@dataclass(frozen=True, slots=True)
class Product:
    """One article of the shop."""

    number: int
    name: str
    category: str
    material: str
    brand: str
    cents: int
    cents_before: int | None
    currency: str
    availability: Availability
    rating: float
    changed_at: datetime

    @property
    def sku(self) -> str:
        return f"{self.brand[:2].upper()}-{self.number:05d}"

    @property
    def gtin13(self) -> str:
        """A number of the 040 range, which is kept for use inside a shop."""
        digits = f"040{self.number % 10**9:09d}"
        total = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits))
        return digits + str(-total % 10)

    @property
    def price(self) -> str:
        """The price for machines."""
        return f"{self.cents // 100}.{self.cents % 100:02d}"

    @property
    def price_text(self) -> str:
        """The price for people, in one of the ways in which people write prices."""
        return self._written(self.cents)

    @property
    def price_before_text(self) -> str | None:
        return None if self.cents_before is None else self._written(self.cents_before)

    def _written(self, cents: int) -> str:
        whole, rest = f"{cents // 100:,}", f"{cents % 100:02d}"
        pointed, spaced, ticked = (whole.replace(",", mark) for mark in (".", "\u202f", "'"))
        ways = {
            "EUR": (
                f"€{whole}.{rest}",
                f"{pointed},{rest} €",
                f"{spaced},{rest}\u00a0€",
                f"{whole}.{rest} EUR",
            ),
            "USD": (f"${whole}.{rest}", f"US$ {whole}.{rest}"),
            "GBP": (f"£{whole}.{rest}",),
            "CHF": (f"CHF {ticked}.{rest}",),
        }
        return pick("way", self.number, ways[self.currency])


def product(n: int) -> Product:
    """Product number n, the same each time."""
    category = tuple(CATEGORIES)[n % len(CATEGORIES)]
    goods, materials = CATEGORIES[category]
    material = pick("material", n, materials)
    base = pick("price", n, (1450, 2990, 4900, 7995, 12900, 24950, 39900, 129900, 215000))
    cents = base + draw("cents", n, 40) * 25
    kinds = (
        *[Availability.IN_STOCK] * 5,
        *[Availability.OUT_OF_STOCK] * 2,
        Availability.LIMITED,
        Availability.PRE_ORDER,
    )
    return Product(
        number=n,
        name=f"{pick('line', n, _LINES)} {material} {pick('kind', n, goods)}",
        category=category,
        material=material,
        brand=pick("brand", n, _BRANDS),
        cents=cents,
        cents_before=cents * 5 // 4 if draw("sale", n, 4) == 0 else None,
        currency=pick("currency", n, ("EUR", "EUR", "EUR", "USD", "GBP", "CHF")),
        availability=pick("availability", n, kinds),
        rating=round(3.1 + draw("rating", n, 19) / 10, 1),
        changed_at=_FIRST_CHANGE + timedelta(hours=n % 2000),
    )
