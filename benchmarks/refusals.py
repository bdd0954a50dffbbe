"""How well walls are recognised, and what the look costs: precision and recall over the published cases."""

import argparse
import json
from collections import Counter
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
    """The published cases."""
    return [json.loads(line) for line in (_DATA / "walls/cases.jsonl").read_text(encoding="utf-8").splitlines()]


def answer_to(case: dict[str, Any]) -> tuple[WebUrl, Reply, tuple[Hop, ...]]:
    body = case["body"].encode()
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
    """CPU of the look alone: an ordinary page of 28 KB, and the average case, most of which are parsed."""
    body = (_DATA / "pages/product.html").read_bytes()
    headers = {"content-type": "text/html; charset=utf-8", "server": "nginx", "set-cookie": "a=b", "etag": "x"}
    url = parse("https://shop.example/product/3?page=2")
    ordinary = Reaction(url, Reply(200, headers, body, "", "1.1", Timings(1, 1), len(body)))
    all_cases = [Reaction(url, reply, hops) for url, reply, hops in map(answer_to, cases())]
    whole_set = microseconds(lambda: [recognise(each) for each in all_cases], 5)
    return {
        "ordinary page of 28 KB": microseconds(lambda: recognise(ordinary), 2_000),
        "case": round(whole_set / len(all_cases), 1),
    }


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


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
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
