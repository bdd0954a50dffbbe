"""Yes and no, as shops and forms say it."""

import re

__all__ = ["boolean"]

_LONGEST = 1_000  # characters that are searched for an answer
_NO = "no false off 0 nein non none never disabled inactive unavailable outofstock soldout discontinued ausverkauft"
_YES = (
    "yes true on 1 ja oui sí si enabled active checked available instock instoreonly onlineonly limitedavailability "
    "preorder presale madetoorder verfügbar lieferbar disponible disponibile"
)
_NO_ANSWERS = frozenset(_NO.split())
_YES_ANSWERS = frozenset(_YES.split())
_NO_WORDS = re.compile(
    r"\b(?:out[ -]of[ -]stock|sold[ -]out|not (?:in stock|available)|no longer available|unavailable|discontinued|"
    r"nicht (?:verfügbar|lieferbar|auf lager|vorrätig)|ausverkauft|épuisé|agotado|esaurito|uitverkocht)\b"
)
_YES_WORDS = re.compile(
    r"\b(?:in[ -]stock|available|pre-?order|left in stock|auf lager|verfügbar|lieferbar|vorrätig|en stock|disponible|"
    r"disponibile|op voorraad)\b"
)


def boolean(text: str) -> bool | None:
    """An element that is there and says nothing means yes; one that says something else means neither."""
    said = text[:_LONGEST].strip().lower()
    if not said:
        return True
    # schema.org writes https://schema.org/InStock
    word = said.rstrip("/").rpartition("/")[2].strip(" .!")
    if word in _NO_ANSWERS or _NO_WORDS.search(said):
        return False
    if word in _YES_ANSWERS or _YES_WORDS.search(said):
        return True
    return None
