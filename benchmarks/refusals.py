"""How well walls are recognised, and what the look costs: precision and recall over the published cases."""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.measuring import microseconds
from emissary.model.pages import Code, Hop, Page, Reply, RobotsNote, Timings, WebUrl
from emissary.reading.refusal import read
from emissary.reading.urls import parse
from emissary.reading.walls import Reaction, recognise

__all__ = ["Score", "answer_to", "cases", "code_of", "scores"]

_DATA = Path(__file__).parent.parent / "tests/data"
_NOW = datetime(2026, 11, 18, 9, 0, tzinfo=UTC)
_NOTE = RobotsNote(None, None, _NOW)
_STYLE = ".card{margin:0 auto;padding:1rem;display:block}\n" * 21  # one KB


@dataclass(frozen=True, slots=True)
class Score:
    """How one code was recognised."""

    cases: int
    said: int
    right: int

    @property
    def precision(self) -> float:
        return self.right / self.said if self.said else 1.0

    @property
    def recall(self) -> float:
        return self.right / self.cases if self.cases else 1.0


def cases() -> list[dict[str, Any]]:
    """The published cases: those that the rules were made with, then the blind sets."""
    files = [_DATA / "walls/cases.jsonl", *sorted((_DATA / "walls").glob("blind-*.jsonl"))]
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def answer_to(case: dict[str, Any]) -> tuple[WebUrl, Reply, tuple[Hop, ...]]:
    """The case as an answer; `pad` is how many KB of style its head has besides, as those of real pages do."""
    body = case["body"].replace("</head>", f"<style>{_STYLE * case.get('pad', 0)}</style></head>", 1).encode()
    reply = Reply(case["status"], case["headers"], body, "192.0.2.1", "1.1", Timings(1, 1), len(body))
    return parse(case["url"]), reply, tuple(Hop(url, status, "") for url, status in case.get("hops", ()))


def code_of(case: dict[str, Any]) -> str:
    """What we say came back; `page` for content, and for a 404 that says so."""
    url, reply, hops = answer_to(case)
    outcome = read(url, reply, _NOTE, _NOW, hops=hops)
    return "page" if isinstance(outcome, Page) and outcome.code is not Code.SOFT_404 else outcome.code.value


def scores(chosen: list[dict[str, Any]]) -> dict[str, Score]:
    """The score of every code that the cases are labelled with."""
    told = [(case["label"], code_of(case)) for case in chosen]
    labelled, said = Counter(label for label, _ in told), Counter(code for _, code in told)
    right = Counter(label for label, code in told if label == code)
    return {label: Score(labelled[label], said[label], right[label]) for label in labelled}


def costs() -> dict[str, float]:
    """CPU of the look alone: ordinary pages of 20 and of 28 KB, and the average case, most of which are parsed."""
    shop, paper = ((_DATA / f"pages/{name}.html").read_bytes() for name in ("product", "article"))
    whole = [Reaction(url, reply, hops) for url, reply, hops in map(answer_to, cases())]
    return {
        "ordinary page of 20 KB": _cost_of(paper.replace(b"</p>", b" and so on" * 160 + b"</p>")),
        "ordinary page of 28 KB": _cost_of(shop),
        "case": round(microseconds(lambda: [recognise(each) for each in whole], 1) / len(whole), 1),
    }


def _cost_of(body: bytes) -> float:
    headers = {"content-type": "text/html; charset=utf-8", "server": "nginx", "set-cookie": "a=b", "etag": "x"}
    reply = Reply(200, headers, body, "", "1.1", Timings(1, 1), len(body))
    ordinary = Reaction(parse("https://shop.example/product/3?page=2"), reply)
    return microseconds(lambda: recognise(ordinary), 2_000)


def walls_among(folder: Path) -> Iterator[tuple[Path, Code | None, tuple[str, ...]]]:
    """What is said of pages that somebody has: of each HTML file in a folder, what it is taken for and why."""
    for file in sorted(folder.rglob("*.html")):
        if file.is_file():
            body = file.read_bytes()
            reply = Reply(200, {"content-type": "text/html"}, body, "", "1.1", Timings(1, 1), len(body))
            wall = recognise(Reaction(parse(f"https://pages.example/{file.stem}"), reply))
            yield file, None if wall is None else wall.code, () if wall is None else wall.evidence


def _parts() -> dict[str, list[dict[str, Any]]]:
    every = cases()
    names = dict.fromkeys(case["part"] for case in every)
    return {name: [case for case in every if case["part"] == name] for name in names} | {"all": every}


def _show(tables: dict[str, dict[str, Score]], wrong: list[str], cost: dict[str, float]) -> None:
    for part, table in tables.items():
        print(f"\n{part}: {sum(score.cases for score in table.values())} cases")
        for label, score in table.items():
            print(f"  {label:13} {score.cases:4}  precision {score.precision:.3f}  recall {score.recall:.3f}")
    print("\nmisread:", *wrong, sep="\n  ")
    print("\nmicroseconds of CPU:", *(f"{name}: {figure}" for name, figure in cost.items()), sep="\n  ")


def _show_folder(folder: Path) -> None:
    told = list(walls_among(folder))
    for file, code, evidence in told:
        if code is not None:
            print(f"{code.value:13} {file.relative_to(folder)}: {'; '.join(evidence)}")
    print(f"{len(told)} pages, {sum(code is not None for _, code, _ in told)} taken for something else")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--json", action="store_true")
    arguments.add_argument("--pages", type=Path, metavar="FOLDER", help="look at the HTML files in a folder instead")
    given = arguments.parse_args()
    if given.pages is not None:
        _show_folder(given.pages)
        return
    tables = {part: scores(chosen) for part, chosen in _parts().items()}
    wrong = [
        f"{case['id']}: {case['label']} read as {code_of(case)}" for case in cases() if code_of(case) != case["label"]
    ]
    if given.json:
        told = {
            part: {
                label: {"cases": s.cases, "precision": s.precision, "recall": s.recall} for label, s in table.items()
            }
            for part, table in tables.items()
        }
        print(json.dumps({"scores": told, "misread": wrong, "microseconds": costs()}, indent=2))
    else:
        _show(tables, wrong, costs())


if __name__ == "__main__":
    main()
