"""From an answer to the wall that it is, if it is one."""

from typing import Any

import msgspec

from emissary.model.pages import Code
from emissary.reading.walls.doors import consent_wall, login_wall
from emissary.reading.walls.gate import is_suspicious, says_challenge
from emissary.reading.walls.gates import block, challenge, waiting_room
from emissary.reading.walls.lost import lost_at_home, soft_404
from emissary.reading.walls.view import view_of
from emissary.reading.walls.way import Reaction
from emissary.reading.walls.weighing import Wall

__all__ = ["recognise"]

_MARKUP = ("text/html", "application/xhtml+xml")
_MOST_JSON = 8_192
_JSON_CHALLENGES = {
    "sec-cp-challenge": "Akamai",
    "blockScript": "HUMAN",
}


def recognise(reaction: Reaction) -> Wall | None:
    """The wall, or None for everything else. What a status says by itself is not decided here."""
    if (said := says_challenge(reaction)) is not None:
        vendor, header = said
        return Wall(Code.CHALLENGE, f"the site answered with a challenge for robots ({vendor})", (header,))
    kind = reaction.reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return _of_json(reaction)
    if kind and kind not in _MARKUP:
        return None
    wall = _judge(reaction) if is_suspicious(reaction) else None
    if wall is None and reaction.hops and reaction.reply.status < 300:
        return lost_at_home(reaction)
    return wall


def _judge(reaction: Reaction) -> Wall | None:
    view, status = view_of(reaction.reply), reaction.reply.status
    if view is None:
        return None
    judges = [waiting_room, challenge]
    if status < 300:
        judges += [login_wall, consent_wall]
    if status < 300 or status == 503:
        judges.append(block)
    if status < 300:
        judges.append(soft_404)
    return next((wall for judge in judges if (wall := judge(view, reaction)) is not None), None)


def _of_json(reaction: Reaction) -> Wall | None:
    body = reaction.reply.body
    if len(body) > _MOST_JSON or not any(sign in body for sign in (b"cfWaitingRoom", b"captcha", b"sec-cp-challenge")):
        return None
    try:
        said: Any = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return None
    return _of_answer(said, reaction.reply.status) if isinstance(said, dict) else None


def _of_answer(said: dict[str, Any], status: int) -> Wall | None:
    room = said.get("cfWaitingRoom")
    if isinstance(room, dict) and room.get("inWaitingRoom") is True:
        wait = room.get("refreshIntervalSeconds")
        evidence = ("cfWaitingRoom.inWaitingRoom",)
        return Wall(
            Code.WAITING_ROOM, "the site has us wait in line", evidence, wait if isinstance(wait, int) else None
        )
    sign = next((key for key in _JSON_CHALLENGES if key in said), None)
    if sign is None and "captcha-delivery.com" in str(said.get("url", "")):
        sign = "captcha-delivery.com"
    if sign is None or status < 400:
        return None
    vendor = _JSON_CHALLENGES.get(sign, "DataDome")
    return Wall(Code.CHALLENGE, f"the site answered with a challenge for robots ({vendor})", (sign, f"status {status}"))
