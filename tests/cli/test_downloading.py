"""Results on their way into a file: cut at any place, they go on behind the last one that is whole."""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from front import Front
from pyarrow import parquet
from served import Emissary, until

from emissary.cli.downloading import Download
from emissary.model.errors import BadRequest
from emissary.testing.web import TestWebProcess

Run = Callable[..., "CompletedProcess[str]"]

_FORMS = ["out.jsonl", "out.csv", "out.parquet"]
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
    if file.suffix == ".parquet":
        found: list[int] = parquet.read_table(file)["index"].to_pylist()
        return found
    if file.suffix == ".csv":
        with file.open(newline="") as text:
            return [int(row["index"]) for row in csv.DictReader(text)]
    return [json.loads(line)["index"] for line in file.read_text().splitlines()]


def _partial(file: Path) -> Path:
    """Where the rows are while the file is not whole: a Parquet file is made of lines, at the end."""
    return file.with_name(f".{file.name}.part") if file.suffix == ".parquet" else file


@pytest.mark.parametrize("name", _FORMS)
@pytest.mark.parametrize("cut", [0, 1, 99, 100, 101, 249])
def test_a_cut_download_goes_on_and_has_every_result_once(tmp_path: Path, name: str, cut: int) -> None:
    file = tmp_path / name
    with pytest.raises(_Cut), Download(str(file), "bat_1") as download:
        download.take(_cut_after(cut))
    with _partial(file).open("ab") as torn:
        torn.write(b'{"cursor": "half a li')
    with Download(str(file), "bat_1") as download:
        done = int(download.cursor) + 1 if download.cursor else 0
        assert done == cut
        download.take(_ALL[done:])
        download.finish()
    assert _indexes(file) == list(range(250))
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("name", _FORMS)
def test_a_killed_download_goes_on_from_its_last_note(tmp_path: Path, name: str) -> None:
    """Nothing is said at the end by whoever is killed; what was noted on the way counts."""
    file, note, other = tmp_path / name, tmp_path / f".{name}.cursor", tmp_path / "kept"
    with Download(str(file), "bat_1") as download:
        download.take(_ALL[:100])
        other.write_bytes(note.read_bytes())
        download.take(_ALL[100:130])
    other.replace(note)
    with Download(str(file), "bat_1") as download:
        assert download.cursor == "99"
        download.take(_ALL[100:])
        download.finish()
    assert _indexes(file) == list(range(250))


@pytest.mark.parametrize("name", _FORMS)
def test_a_download_over_a_bad_line_is_whole_in_the_end(
    run: Run, web: TestWebProcess, tmp_path: Path, *, server: Emissary, name: str
) -> None:
    """Cut twice and taken up again by the client, then given up, then gone on with by hand."""
    pages = [web.host_url(1, f"/page/{number}?{name}") for number in range(60)]
    batch = server.post("/v1/batch", {"urls": pages, "formats": ["rawHtml"]}).json()["id"]
    until(lambda: server.get(f"/v1/batch/{batch}").json()["status"] == "completed")
    download = ("jobs", "results", batch, "-o", name)
    with Front(server.url, 300_000, 200_000, is_shut=True) as front:
        given_up = run(*download, EMISSARY_URL=front.url, EMISSARY_API_KEY=server.key)
    assert given_up.returncode == 5, given_up.stderr
    came = len(_indexes(_partial(tmp_path / name)))
    assert 10 < came < 60
    gone_on = run(*download, EMISSARY_URL=server.url, EMISSARY_API_KEY=server.key)
    assert gone_on.returncode == 0, gone_on.stderr
    assert f"{60 - came} results written" in gone_on.stderr
    assert sorted(_indexes(tmp_path / name)) == list(range(60))
    assert not list(tmp_path.glob(".out*"))


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
