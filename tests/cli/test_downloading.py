"""Results on their way into a file: cut at any place, they go on behind the last one that is whole."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from emissary.cli.downloading import Download
from emissary.model.errors import BadRequest

_ALL = [
    json.dumps({"cursor": str(number), "index": number, "url": f"http://a/{number}", "status": "completed"}).encode()
    for number in range(250)
]


class _Cut(Exception):
    pass


def _cut_after(count: int) -> Iterator[bytes]:
    yield from _ALL[:count]
    raise _Cut


def _indexes(file: Path) -> list[int]:
    if file.suffix == ".csv":
        return [int(row["index"]) for row in csv.DictReader(file.read_text().splitlines())]
    return [json.loads(line)["index"] for line in file.read_text().splitlines()]


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv"])
@pytest.mark.parametrize("cut", [0, 1, 99, 100, 101, 249])
def test_a_cut_download_goes_on_and_has_every_result_once(tmp_path: Path, name: str, cut: int) -> None:
    file = tmp_path / name
    with pytest.raises(_Cut), Download(str(file), "bat_1") as download:
        download.take(_cut_after(cut))
    with file.open("ab") as torn:
        torn.write(b'{"cursor": "half a li')
    with Download(str(file), "bat_1") as download:
        done = int(download.cursor) + 1 if download.cursor else 0
        assert done == cut
        download.take(_ALL[done:])
        download.finish()
    assert _indexes(file) == list(range(250))
    assert list(tmp_path.iterdir()) == [file]


def test_a_killed_download_goes_on_from_its_last_note(tmp_path: Path) -> None:
    """Nothing is said at the end by whoever is killed; what was noted on the way counts."""
    file, other = tmp_path / "out.jsonl", tmp_path / "kept"
    with Download(str(file), "bat_1") as download:
        download.take(_ALL[:100])
        other.write_bytes((tmp_path / ".out.jsonl.cursor").read_bytes())
        download.take(_ALL[100:130])
    other.replace(tmp_path / ".out.jsonl.cursor")
    with Download(str(file), "bat_1") as download:
        assert download.cursor == "99"
        download.take(_ALL[100:])
        download.finish()
    assert _indexes(file) == list(range(250))


def test_another_batch_does_not_go_into_a_file_that_is_not_whole(tmp_path: Path) -> None:
    with Download(str(tmp_path / "out.jsonl"), "bat_1") as download:
        download.take(_ALL[:3])
    with pytest.raises(BadRequest, match="bat_1"):
        Download(str(tmp_path / "out.jsonl"), "bat_2")
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 3


def test_a_file_that_is_whole_is_written_anew(tmp_path: Path) -> None:
    for batch in ("bat_1", "bat_2"):
        with Download(str(tmp_path / "out.jsonl"), batch) as download:
            assert download.cursor == ""
            download.take(_ALL[:3])
            download.finish()
    assert _indexes(tmp_path / "out.jsonl") == [0, 1, 2]


def test_a_note_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / ".out.jsonl.cursor").write_text("nonsense")
    with pytest.raises(BadRequest, match="remove it"):
        Download(str(tmp_path / "out.jsonl"), "bat_1")
