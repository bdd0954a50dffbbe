"""robots.txt by RFC 9309: pure. Tells whether a path may be read, which line says so, and which use is wished for."""

import hashlib
import re
from dataclasses import dataclass
from datetime import timedelta

from emissary.reading.content_usage import combine_usage, read_usage

__all__ = ["MAX_ROBOTS_BYTES", "RobotsRules", "Verdict", "parse_robots"]

MAX_ROBOTS_BYTES = 512 * 1024
_LONGEST_LINE = 2083 * 8
_TOKEN = re.compile(r"[A-Za-z_-]*")
_LINE_ENDS = re.compile(rb"\r\n|\r|\n")
_ESCAPE = re.compile(rb"%[0-9a-fA-F]{2}|[\x80-\xff]")
_RATE = re.compile(r"(\d+)/(\d+)([smh]?)$")
_OBJECT, _PART = 150, 64  # bytes: what a rule takes beside its text, and what a piece of it takes beside its letters
_UNIT_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
# Spellings that occur in the wild and that well-known readers understand.
_NAMES = {
    "user-agent": "agent", "useragent": "agent", "user agent": "agent",
    "allow": "allow", "disallow": "disallow", "dissallow": "disallow", "dissalow": "disallow", "disalow": "disallow",
    "diasllow": "disallow", "disallaw": "disallow",
    "crawl-delay": "delay", "request-rate": "rate", "sitemap": "sitemap", "site-map": "sitemap",
    "content-usage": "usage",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the path may be read, and the line that decided; None where no line spoke of it."""

    allowed: bool
    rule: str | None


@dataclass(frozen=True, slots=True)
class _Pattern:
    text: str
    parts: tuple[str, ...]
    anchored: bool

    def matches(self, path: str) -> bool:
        """Only `*` and a final `$` are special. Leftmost search of each part never needs to step back."""
        first, *rest = self.parts
        if not path.startswith(first):
            return False
        at = len(first)
        if not rest:
            return not self.anchored or at == len(path)
        for part in rest[:-1]:
            at = path.find(part, at)
            if at < 0:
                return False
            at += len(part)
        last = rest[-1]
        return path.endswith(last) and len(path) - len(last) >= at if self.anchored else path.find(last, at) >= 0

    @property
    def weight(self) -> int:
        """About how many bytes it takes to remember: objects weigh more than their letters."""
        return _OBJECT + 2 * len(self.text) + _PART * len(self.parts)


@dataclass(frozen=True, slots=True)
class _Rule(_Pattern):
    allows: bool

    @property
    def line(self) -> str:
        return f"{'Allow' if self.allows else 'Disallow'}: {self.text}"


@dataclass(frozen=True, slots=True)
class _Usage(_Pattern):
    said: dict[str, bool]


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """The rules of one robots.txt for one agent."""

    sha256: str
    rules: tuple[_Rule, ...] = ()  # the longest first, and Allow before Disallow where they are equally long
    gap: timedelta | None = None
    sitemaps: tuple[str, ...] = ()
    usages: tuple[_Usage, ...] = ()  # the longest first

    @property
    def weight(self) -> int:
        """About how many bytes these rules take to remember."""
        said = sum(_OBJECT + sum(2 * _PART + len(key) for key in usage.said) for usage in self.usages)
        named = sum(_PART + len(sitemap) for sitemap in self.sitemaps)
        return 2 * _OBJECT + named + said + sum(each.weight for each in (*self.rules, *self.usages))

    def verdict(self, path: str) -> Verdict:
        """The longest pattern that matches decides; if none does, the path may be read."""
        if path == "/robots.txt":
            return Verdict(allowed=True, rule=None)
        for rule in self.rules:
            if rule.matches(path):
                return Verdict(rule.allows, rule.line)
        return Verdict(allowed=True, rule=None)

    def usage(self, path: str) -> dict[str, bool]:
        """What the site says about the use of what is at the path; the longest pattern that matches decides.

        Where several are equally long, a no among them counts: this is about use, and not about reading.
        """
        said: list[dict[str, bool]] = []
        length = 0
        for usage in self.usages:
            if said and len(usage.text) < length:
                break
            if usage.matches(path):
                said.append(usage.said)
                length = len(usage.text)
        return combine_usage(*said)


class _Group:
    def __init__(self) -> None:
        self.seen = False
        self.rules: list[_Rule] = []
        self.usages: list[_Usage] = []
        self.gap: float | None = None

    def note(self, name: str, value: str) -> None:
        if name in ("allow", "disallow"):
            self.rules.extend(_rules_of(name == "allow", value))
        elif name == "usage":
            self.usages.extend(_usages_of(value))
        elif (seconds := _seconds(name, value)) is not None:
            self.gap = max(self.gap or 0.0, seconds)


def parse_robots(body: bytes, agent: str) -> RobotsRules:
    """The rules for an agent, named by its product token: those of its own groups, else those of `*`."""
    own, everyone = _Group(), _Group()
    current: list[_Group] = []
    sitemaps: list[str] = []
    naming = False
    for name, value in _lines(body):
        if name == "agent":
            current = current if naming else []
            naming = True
            group = _group_named(value, agent, own, everyone)
            if group is not None:
                group.seen = True
                current.append(group)
        elif name == "sitemap":
            sitemaps.append(value)
        else:
            # Crawl-delay and the like do not end a run of User-agent lines: only rules do.
            naming = naming and name in ("delay", "rate")
            for group in current:
                group.note(name, value)
    chosen = own if own.seen else everyone
    rules = sorted((rule for rule in chosen.rules if rule.text), key=lambda rule: (-len(rule.text), not rule.allows))
    usages = sorted(chosen.usages, key=lambda usage: -len(usage.text))
    gap = None if chosen.gap is None else timedelta(seconds=chosen.gap)
    return RobotsRules(hashlib.sha256(body).hexdigest(), tuple(rules), gap, tuple(sitemaps), tuple(usages))


def _lines(body: bytes) -> list[tuple[str, str]]:
    text = body[:MAX_ROBOTS_BYTES].removeprefix(b"\xef\xbb\xbf")
    lines = (_name_and_value(raw[:_LONGEST_LINE]) for raw in _LINE_ENDS.split(text))
    return [line for line in lines if line is not None]


def _name_and_value(raw: bytes) -> tuple[str, str] | None:
    line = raw.partition(b"#")[0].strip()
    name, colon, value = line.partition(b":")
    if not colon:
        words = line.split()
        if len(words) != 2:
            return None
        name, value = words
    known = _NAMES.get(name.strip().lower().decode("latin-1"))
    return None if known is None else (known, _ESCAPE.sub(_escaped, value.strip()).decode("latin-1"))


def _escaped(found: re.Match[bytes]) -> bytes:
    """Escapes in capitals, and bytes beyond ASCII escaped: the form in which URLs come."""
    text = found.group()
    return text.upper() if text[:1] == b"%" else b"%%%02X" % text[0]


def _group_named(value: str, agent: str, own: _Group, everyone: _Group) -> _Group | None:
    if value == "*" or value[:2].strip() == "*":
        return everyone
    found = _TOKEN.match(value)
    token = found.group() if found else ""
    return own if token and token.lower() == agent.lower() else None


def _rules_of(allows: bool, value: str) -> list[_Rule]:  # noqa: FBT001 - which of the two lines it is
    rules = [_rule(allows, value)]
    folder, slash, page = value.rpartition("/")
    if allows and slash and page.startswith("index.htm"):
        rules.append(_rule(allows, f"{folder}/$"))
    return rules


def _rule(allows: bool, pattern: str) -> _Rule:  # noqa: FBT001 - which of the two lines it is
    return _Rule(pattern, *_split(pattern), allows)


def _usages_of(value: str) -> list[_Usage]:
    """A path, which begins with a slash and ends at the first space, may stand before what is said."""
    path, said = "", value
    if value.startswith("/"):
        path, _, said = value.replace("\t", " ").partition(" ")
    spoken = read_usage(said)
    return [_Usage(path, *_split(path), spoken)] if spoken else []  # a line that says nothing is no rule


def _split(pattern: str) -> tuple[tuple[str, ...], bool]:
    anchored = pattern.endswith("$")
    return tuple((pattern[:-1] if anchored else pattern).split("*")), anchored


def _seconds(name: str, value: str) -> float | None:
    if name == "delay":
        try:
            seconds = float(value)
        except ValueError:
            return None
        return seconds if 0 <= seconds <= 86_400 else None
    found = _RATE.match(value.partition(" ")[0])
    if found is None or int(found[1]) == 0:
        return None
    return int(found[2]) * _UNIT_SECONDS[found[3]] / int(found[1])
