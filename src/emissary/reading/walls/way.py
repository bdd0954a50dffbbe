"""The way that led to an answer: what was asked for, and whether this can be it."""

import re

import msgspec

from emissary.model.pages import Hop, Reply, WebUrl

__all__ = ["ABOUT_CONSENT", "ABOUT_SIGN_IN", "Reaction", "another_asked", "led_home", "returns"]

# Where to go back to: only a page that was reached on the way to another carries this.
_RETURNS = re.compile(
    r"[?&](?:\w*(?:next|return|redir|continue|back|target|dest|origin|callback|forward|referr?er)\w*|goto|url|done|ziel|"
    r"retour|from|ref|came_from|service|relaystate|volgende)=|"
    r"[?&]\w{1,30}=(?:%2f\w|/\w|https?(?:%3a|:))|/referer/"
)
_RETURN_FIELD = re.compile(
    r"^_?(?:next|continue|\w*return\w*|\w*redir\w*|back\w*|goto|target\w*|original\w*|destination|came_from|relaystate)$"
)
# Whoever asks for a page about one of these gets what they asked for.
ABOUT_SIGN_IN = re.compile(
    r"(?:^|[/=:])(?:[\w-]{0,20}[-_])?(?:log-?in|log-?on|log-?out|sign-?(?:in|up|on|out)|auth\w{0,12}|sso|sessions?|passw\w*|"
    r"regist\w*|join|account|my-?account|mein-?konto|mon-?compte|mi-?cuenta|userlogin|anmeld\w*|connexion|"
    r"identif\w*|inlog\w*|logowanie|entrar|acceso|accedi)(?:[-_]\w{1,20})?(?:\.\w+)?(?:[/?#&]?$|[?#&])|"
    r"/(?:log-?in|sign-?in|log-?out)\b"
)
ABOUT_CONSENT = re.compile(
    r"priva[ct]|cookie|consent|datenschutz|gdpr|dsgvo|rgpd|data-protection|vie-priv|einwillig|zustimm|prywatn"
)
_INDEX = re.compile(r"/(?:[a-z]{2}(?:[-_][a-z]{2})?/?)?(?:index|home|default|start|main)?(?:\.\w{2,5})?")
_NUMBER = re.compile(r"\d{3}")
_SEVERAL_WORDS = 2  # hyphens
_MANY_WORDS = 3


class Reaction(msgspec.Struct, frozen=True, gc=False):
    """What came back, and the way that led there."""

    url: WebUrl
    reply: Reply
    hops: tuple[Hop, ...] = ()

    @property
    def came_from(self) -> str | None:
        """The URL that was asked for, if it is not this one."""
        return self.hops[0].url if self.hops and self.hops[0].url != self.url.href else None


def another_asked(reaction: Reaction, about: tuple[re.Pattern[str], ...], hidden: tuple[str, ...]) -> str | None:
    """What says that another page was asked for than one `about` this; `hidden` are the names of its hidden fields."""
    path = reaction.url.path.lower()
    if reaction.came_from is not None and _path_of(reaction.came_from) != path:
        first = _path_of(reaction.came_from)
        return None if any(each.search(first) for each in about) else f"redirected from {reaction.came_from}"
    if _RETURNS.search(path):
        return "the URL says where to go on to"
    if any(each.search(path) for each in about):
        return None
    if any(_RETURN_FIELD.match(name) for name in hidden):
        return "the form says where to go on to"
    return None if len(path) <= 1 else "it stands under the URL of another page"


def returns(reaction: Reaction) -> bool:
    """Whether the URL says where to go on to."""
    return _RETURNS.search(reaction.url.path.lower()) is not None


def led_home(reaction: Reaction) -> bool:
    """Whether one thing was asked for, by its name, and the way ended at the front page of the same site."""
    if reaction.came_from is None or not _INDEX.fullmatch(reaction.url.path.partition("?")[0]):
        return False
    host, _, path = reaction.came_from.lower().partition("//")[2].partition("/")
    steps = [step for step in path.partition("?")[0].split("/") if step]
    return host.removeprefix("www.") == reaction.url.authority.removeprefix("www.") and _names_one_thing(steps)


def _names_one_thing(steps: list[str]) -> bool:
    """Whether the last step is a name that was given to one thing, of several words or with a number."""
    if not steps:
        return False
    words = steps[-1].count("-")
    return words >= _MANY_WORDS or (
        len(steps) > 1 and (words >= _SEVERAL_WORDS or _NUMBER.search(steps[-1]) is not None)
    )


def _path_of(href: str) -> str:
    return "/" + href.lower().partition("//")[2].partition("/")[2]
