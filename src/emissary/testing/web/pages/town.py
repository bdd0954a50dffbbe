"""What happened in Saltmere: the stories of the newspaper, told from a few facts that differ from one to the next."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from emissary.testing.web.pages.plain import draw, pick

__all__ = ["ARTICLES", "Story", "story"]

ARTICLES = 40

_REPORTERS = ("Marta Lindqvist", "Joel Abernathy", "Siobhan Fey", "Daniel Okoro")
_PLACES = ("Ropewalk", "the North Quay", "Chandler's Row", "the old customs house", "Mill Lane", "the fish market")
_PEOPLE = ("Hanna Voss", "Piet Rademaker", "Agnes Tull", "Karim Said", "Lowri Penn", "Edvard Moe", "Bea Calloway")
# Headline, section, and the sentence on which the story hangs.
_MATTERS = (
    ("Ferry to the islands will run {count} times a week", "Harbour",
     "The council agreed on Monday to pay for {count} crossings a week until the end of September."),
    ("Library opens its cellar after {count} years", "Culture",
     "For {count} years nobody but the caretaker had been down the stairs behind the reading room."),
    ("Market traders ask for a roof over {count} stalls", "Trade",
     "The wind took {count} awnings last month, and the traders have had enough."),
    ("School orchestra plays to {count} empty chairs, and one dog", "Culture",
     "A misprint sent the audience to the wrong hall, where {count} people waited for an hour."),
    ("Swans hold up traffic for {count} minutes", "Town",
     "It took {count} minutes, two constables and a loaf of bread to clear the junction."),
    ("Bridge to close for {count} nights", "Traffic",
     "Engineers will replace the bearings of the swing bridge in {count} nights of work."),
    ("Bakers bring back the {count}-hour loaf", "Trade",
     "The dough rests for {count} hours, and the queue now reaches the corner before seven."),
    ("{count} lamps for the sea wall", "Harbour",
     "The first of {count} lamps was lit on Friday, to the relief of those who walk home that way."),
)  # fmt: skip
_TOLD = (
    "“We asked for this in spring and were told to wait,” said {person}, who has lived near {place} for thirty years. "
    "“Now it is here, and I would like to see it last longer than the posters.”",
    "The cost is put at {cost} thousand, a little more than half of which comes from the harbour fund. The rest will "
    "have to be found in a budget that has already been cut twice this year.",
    "Not everyone is pleased. {other} called the plan “a handsome answer to a question that was never put”, and "
    "counted on the fingers of one hand the days on which the work at {place} had gone on without a break.",
    "At the town hall the mood was lighter. A clerk carried in a tray of coffee, somebody opened a window, and for a "
    "while the talk was of the regatta, which this year will start from {place}.",
    "A count on Saturday morning found {crowd} people passing {place} within an hour, about a third more than a year "
    "ago. The figures were gathered by pupils of the upper school, who asked to be paid in ice cream.",
    "Much will hang on the weather. The work can go on in rain, but not in the east wind that visits Saltmere every "
    "autumn, and the contractor has written the word “wind” into the agreement in three places.",
    "{person} has kept a notebook of such promises since {year}. It holds forty-one entries, of which nineteen are "
    "crossed out in green, the colour for things that were done.",
    "The next meeting is on the second Tuesday of the month, in the upper room of the old customs house. It is open to "
    "everyone, and the chairs, as {other} pointed out, are new.",
)
_REMARKS = (
    "About time.", "My grandmother would have had a word to say about this.", "Has anyone asked the ferrymen?",
    "I was there, and it was louder than you write.",
    "A good report. The figure in the fourth line is from last year, though.",
    "Who cleans it afterwards? Nobody ever asks that.", "Moved away ten years ago and still read this every morning.",
)  # fmt: skip
_FIRST_DAY = datetime(2026, 2, 2, 6, 30, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Story:
    """One article of the newspaper."""

    number: int
    headline: str
    section: str
    author: str
    published_at: datetime
    changed_at: datetime
    lead: str
    paragraphs: tuple[str, ...]
    comments: tuple[tuple[str, str], ...]

    @property
    def path(self) -> str:
        words = "".join(letter if letter.isalnum() else "-" for letter in self.headline.lower())
        return f"/article/{'-'.join(filter(None, words.split('-')))}-{self.number}"


def story(n: int) -> Story:
    """Article number n, the same each time; a higher number is a later day."""
    headline, section, lead = _MATTERS[n % len(_MATTERS)]
    facts = {
        "count": 3 + draw("count", n, 27),
        "cost": 40 + draw("cost", n, 400),
        "crowd": 120 + draw("crowd", n, 900),
        "year": 1970 + draw("year", n, 40),
        "place": pick("place", n, _PLACES),
        "person": _PEOPLE[n % 7],
        "other": _PEOPLE[(n + 3) % 7],
    }
    start = draw("start", n, len(_TOLD))
    told = [_TOLD[(start + k) % len(_TOLD)] for k in range(5 + draw("told", n, 3))]
    published_at = _FIRST_DAY + timedelta(days=n, minutes=draw("minute", n, 300))
    return Story(
        number=n,
        headline=headline.format(**facts),
        section=section,
        author=pick("reporter", n, _REPORTERS),
        published_at=published_at,
        changed_at=published_at + timedelta(minutes=draw("change", n, 4) * 55),
        lead=lead.format(**facts),
        paragraphs=tuple(sentence.format(**facts) for sentence in told),
        comments=tuple((pick(f"who{k}", n, _PEOPLE), _REMARKS[(n + k) % 7]) for k in range(draw("comments", n, 6))),
    )
