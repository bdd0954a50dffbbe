"""What customers say: enough sentences that no two reviews of a page read the same."""

from dataclasses import dataclass
from datetime import date, timedelta

from emissary.testing.web.pages.goods import Product
from emissary.testing.web.pages.plain import draw, pick

__all__ = ["Review", "review"]

_NAMES = (
    "Ingrid P.", "Tomasz W.", "Adaeze N.", "Bernard L.", "Yuki S.", "Carla M.", "Owen T.", "Farida H.",
    "Lukas B.", "Noor A.", "Mireille D.", "Stellan K.", "Rosa G.", "Emeka O.", "Petra V.", "Hugh C.",
)  # fmt: skip
_TITLES = ("Does what it should", "A good buy", "Nearly perfect", "Took a while", "Would buy again", "Not for me",
           "Better than the old one", "A present that was kept", "Honest quality", "Fine, with one remark")  # fmt: skip
_OPENINGS = (
    "I bought this after the last one gave up in the middle of winter.",
    "It arrived on a Thursday, in a box that could have held three of them.",
    "We have used it nearly every day since the spring.",
    "My sister has had hers for nine years, so I knew what to expect.",
    "The photographs make it look smaller than it is.",
    "I was in two minds about the price and am not any more.",
    "This is the second one in our house, because the first is always in use.",
    "I wanted something that can be repaired, and this can.",
    "It replaced a cheaper one which I will not name.",
    "For the first week I thought I had made a mistake.",
)
_MIDDLES = (
    "The {material} has darkened a little and looks the better for it.",
    "The weight is right: heavy enough to stay where you put it.",
    "One of the screws was loose, and a turn by hand settled it.",
    "It cleans up with a dry cloth and a minute of patience.",
    "The finish on the underside is as careful as the one on top.",
    "The instructions are one page long, which is one page more than needed.",
    "I measured it, and the figures on this page are correct to the millimetre.",
    "It smelled of oil on the first day and of nothing on the second.",
    "My neighbour asked where it came from before I had carried it indoors.",
    "The seams are straight, which cannot be said of most of what I own.",
)
_CLOSINGS = (
    "I would give it to a friend, and have.",
    "One star less because the delivery was a day late.",
    "If they still make it in ten years I will buy another.",
    "Ask me again after the winter.",
    "The people at {brand} answered my letter, by the way.",
    "It is not cheap. It is also not going anywhere.",
    "No complaints from anyone at our table.",
    "I only wish that it came in green.",
)
_FIRST_DAY = date(2024, 2, 3)


@dataclass(frozen=True, slots=True)
class Review:
    """What one customer wrote."""

    author: str
    title: str
    day: date
    stars: int
    words: str


def review(of: Product, k: int) -> Review:
    """The k-th review of a product, the same each time."""
    n = of.number * 97 + k
    middles = dict.fromkeys(pick(f"middle{i}", n, _MIDDLES) for i in range(1 + draw("length", n, 4)))
    words = " ".join([pick("opening", n, _OPENINGS), *middles, pick("closing", n, _CLOSINGS)])
    return Review(
        author=pick("author", n, _NAMES),
        title=pick("title", n, _TITLES),
        day=_FIRST_DAY + timedelta(days=draw("day", n, 700)),
        stars=max(1, min(5, round(of.rating) + draw("stars", n, 3) - 1)),
        words=words.format(material=of.material.lower(), brand=of.brand),
    )
