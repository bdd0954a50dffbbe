"""CPU per request of proving who we are: one signed request in both forms, beside the bare signature it contains."""

import argparse
import json
from datetime import UTC, datetime

from benchmarks.measuring import microseconds
from benchmarks.report import Report, Say
from emissary.reading.keys import KeyRing, SigningKey, rotate
from emissary.reading.signing import directory_document, directory_headers, directory_url, sign_request
from emissary.reading.urls import parse

__all__ = ["run"]

_NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
_GOAL = 60.0


def run(*, short: bool) -> Report:
    """Everything in this process: nothing but the processor is involved."""
    Say("signing: one request and the key directory …")
    figures = measure(500 if short else 3000)
    return Report(
        "signing",
        "What it costs to sign (CPU)",
        ("", "microseconds"),
        [(name, f"{figure:,.1f}") for name, figure in figures.items()],
        {"unit": "microseconds of CPU", "goal": _GOAL, "figures": figures},
        [f"The goal: a signed request for at most {_GOAL:.0f} microseconds."],
    )


def measure(rounds: int) -> dict[str, float]:
    key = SigningKey(bytes(range(32)), not_before=_NOW)
    ring = rotate(KeyRing((key,)), SigningKey(bytes(range(32, 64)), not_before=_NOW), _NOW)
    url = parse("https://shop.example/p/kiln-twig-stove?colour=black&size=large")
    directory = directory_url(parse("https://bot.example/"))
    body = directory_document(ring)

    def current() -> object:
        return sign_request(ring.active(_NOW), method="GET", url=url, agent_directory=directory, now=_NOW)

    def before_01() -> object:
        return sign_request(key, method="GET", url=url, agent_directory=directory, now=_NOW, form="pre-01")

    def served() -> object:
        return directory_headers(ring, authority="bot.example", body=body, now=_NOW)

    message = b"x" * 400  # about as long as what a request has signed
    return {
        "bare Ed25519 signature": microseconds(lambda: key.sign(message), rounds),
        "signed request": microseconds(current, rounds),
        "signed request, pre-01": microseconds(before_01, rounds),
        "key directory with two proofs": microseconds(served, rounds // 2),
        "make a key": microseconds(lambda: SigningKey(bytes(32), not_before=_NOW), rounds // 2),
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--json", action="store_true")
    arguments.add_argument("--short", action="store_true")
    given = arguments.parse_args()
    report = run(short=given.short)
    if given.json:
        print(json.dumps(report.figures))
        return
    for name, figure in report.rows:
        print(f"{name:30} {figure:>10}")


if __name__ == "__main__":
    main()
