"""The lists of words that walls are known by."""

import re

import pytest

from emissary.reading.walls import door_words, lost_words, phrases
from emissary.reading.walls.lexicon import Lexicon, plain
from emissary.reading.walls.lost_words import lost_phrase, lost_statement

_PATTERNS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": each
    for module in (phrases, door_words, lost_words)
    for name, value in vars(module).items()
    for each in (value if isinstance(value, tuple) else (value,))
    if isinstance(each, re.Pattern)
}


@pytest.mark.parametrize("name", _PATTERNS)
def test_no_pattern_is_found_in_nothing(name: str) -> None:
    assert _PATTERNS[name].search("") is None
    assert _PATTERNS[name].search("the lamp stands on the mole") is None or name.endswith("_WORD")


def test_a_list_has_sections_of_patterns_and_of_words() -> None:
    lost = Lexicon("lost")
    assert lost.pattern("gone").search("diese seite wurde nicht gefunden")
    assert lost.pattern("gone").search("お探しのページは見つかりません")
    assert {"page", "seite", "strona"} <= lost.words("pages")


def test_a_section_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        Lexicon("lost").pattern("found")


@pytest.mark.parametrize(
    "phrase",
    [
        "Page not found",
        "Oops! That page can’t be found.",
        "Recipe not found",
        "Diese Seite existiert nicht mehr",
        "Stellenangebot nicht mehr verfügbar",
        "Cette annonce n’est plus disponible",
        "No podemos encontrar la página que buscas",
        "La pagina che cerchi non c’è",
        "Deze pagina kunnen we niet vinden",
        "Strona, której szukasz, nie istnieje",
        "Não encontramos a página que você procura",
    ],
)
def test_a_heading_says_that_nothing_is_here_in_many_ways(phrase: str) -> None:
    assert lost_phrase(plain(phrase)) >= 2


@pytest.mark.parametrize(
    "phrase",
    [
        "404 songs about the sea",
        "No products found",
        "Paintings nobody has found in forty years of looking",
        "How to handle a page that does not exist",
        "The missing link",
        "Existing customers",
        "Finding the right page",
        "",
    ],
)
def test_a_heading_about_something_says_nothing_of_the_kind(phrase: str) -> None:
    assert lost_phrase(plain(phrase)) == 0


def test_a_sentence_says_it_more_clearly_when_it_names_a_page_or_whoever_looks_for_it() -> None:
    assert lost_statement("the page you are looking for does not exist.", ())[0] == 2
    assert lost_statement("it may have been moved.", ())[0] == 1
    assert lost_statement("the ferry was late.", ())[0] == 0


def test_what_a_heading_said_is_not_counted_again_as_a_sentence() -> None:
    assert lost_statement("page not found", ("page not found",))[0] == 0
