"""The checker sees what it is there to see."""

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from checker import History, breaches

_TABLES = """
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY, id TEXT, kind TEXT, state TEXT, "order" TEXT, deaths INTEGER DEFAULT 0, outcome TEXT);
CREATE TABLE results (job INTEGER, body BLOB);
CREATE TABLE items (job INTEGER);
CREATE TABLE lanes (key TEXT, state TEXT);
INSERT INTO jobs (id, kind, state, "order")
VALUES ('job_1', 'scrape.http', 'completed', '{"hook": {}}'), ('job_2', 'deliver', 'completed', '{}');
INSERT INTO results (job) VALUES (1), (2);
INSERT INTO lanes VALUES ('host:a', 'empty');
"""


def _store(tmp_path: Path, change: str) -> Path:
    with closing(sqlite3.connect(tmp_path / "emissary.db")) as store:
        store.executescript(_TABLES + change)
    return tmp_path / "emissary.db"


def _history(*seen: tuple[str, str | None]) -> History:
    history = History()
    history.accept("job_1")
    for status, document in seen:
        history.see({"id": "job_1", "status": status, "document": document and {"id": document}})
    return history


def test_a_history_without_fault_has_none(tmp_path: Path) -> None:
    history = _history(("waiting", None), ("active", None), ("waiting", None), ("completed", "doc_1"))
    assert breaches(history, _store(tmp_path, "")) == []


_BLAMED = """
UPDATE jobs SET state = 'failed', deaths = 3, outcome = '{"code": "poison"}' WHERE id = 'job_1';
"""


def test_who_was_there_when_three_died_may_end_as_their_poison_and_no_other(tmp_path: Path) -> None:
    store = _store(tmp_path, _BLAMED)
    assert breaches(_history(("active", None), ("failed", None)), store) == []
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE jobs SET deaths = 2")
        connection.commit()
    assert any("is failed" in breach for breach in breaches(_history(("active", None), ("failed", None)), store))


@pytest.mark.parametrize(
    ("change", "breach"),
    [
        ("DELETE FROM jobs WHERE id = 'job_1'; DELETE FROM results WHERE job = 1;", "not in the ledger"),
        ("UPDATE jobs SET state = 'failed' WHERE id = 'job_1';", "is failed"),
        ("UPDATE jobs SET state = 'waiting' WHERE id = 'job_2';", "has not ended"),
        ("INSERT INTO results (job) VALUES (1);", "2 results"),
        ("DELETE FROM results WHERE job = 1;", "0 results"),
        ("INSERT INTO results (job) VALUES (3);", "result of number 3"),
        ("INSERT INTO items VALUES (1);", "job_1 still stands in line"),
        ("UPDATE lanes SET state = 'ready';", "is ready"),
        ("DELETE FROM jobs WHERE kind = 'deliver'; DELETE FROM results WHERE job = 2;", "0 events"),
        (
            "INSERT INTO jobs (number, id, kind, state, \"order\") VALUES (9, 'job_9', 'deliver', 'completed', '{}');"
            " INSERT INTO results (job) VALUES (9);",
            "2 ev",
        ),
    ],
)
def test_a_breach_in_the_store_is_told(tmp_path: Path, change: str, breach: str) -> None:
    assert any(breach in told for told in breaches(_history(("completed", "doc_1")), _store(tmp_path, change)))


@pytest.mark.parametrize(
    ("seen", "breach"),
    [
        ((), "last seen as nothing"),
        ((("waiting", None),), "last seen"),
        ((("completed", None),), "last seen"),
        ((("completed", "doc_1"), ("completed", "doc_2")), "more than one way"),
        ((("failed", None), ("completed", "doc_1")), "more than one way"),
        ((("completed", "doc_1"), ("waiting", None), ("completed", "doc_1")), "after its end"),
    ],
)
def test_a_breach_in_what_was_seen_is_told(
    tmp_path: Path, seen: tuple[tuple[str, str | None], ...], breach: str
) -> None:
    assert any(breach in told for told in breaches(_history(*seen), _store(tmp_path, "")))


@pytest.mark.parametrize(
    ("place", "url", "breached"),
    [
        (("s", 3), "http://a/1", []),
        (("s", 4), "http://a/1", [True]),
        (("s", 3), "http://a/2", [True]),
        (("t", 3), "http://a/1", [True]),
    ],
)
def test_a_result_that_points_to_a_capture_that_is_not_there_is_told(
    tmp_path: Path, place: tuple[str, int], url: str, breached: list[bool]
) -> None:
    (tmp_path / "captures").mkdir()
    (tmp_path / "captures" / "s").write_bytes(b"..." + gzip.compress(b"WARC-Target-URI: http://a/1"))
    body = {"document": {"url": url}, "receipt": {"capture": dict(zip(("segment", "offset"), place, strict=True))}}
    database = _store(tmp_path, "")
    with closing(sqlite3.connect(database)) as store, store:
        store.execute("UPDATE results SET body = ? WHERE job = 1", [json.dumps(body).encode()])
    told = breaches(_history(("completed", "doc_1")), database)
    assert [("capture that is not there" in each) for each in told] == breached
