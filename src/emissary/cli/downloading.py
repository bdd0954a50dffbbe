"""Results into a file, so that whoever is cut off goes on where the file ends."""

import csv
import io
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import msgspec

from emissary.model.errors import BadRequest

__all__ = ["Download", "check_output"]

_NOTED_EVERY = 100
_PLAIN = ("index", "id", "part", "url", "status", "attempts", "finishedAt", "metadata")
_OUTCOME = ("kind", "code", "httpStatus", "detail")
_DOCUMENT = ("title", "language", "markdown", "text", "html", "rawHtml", "links", "images", "structured", "fields")
_COLUMNS = (*_PLAIN, *_OUTCOME, "finalUrl", *_DOCUMENT, "pageMetadata")


class _Note(msgspec.Struct):
    """How far a download has come: behind this cursor, the file has so many bytes."""

    batch: str
    cursor: str = ""
    size: int = 0


class _Marked(msgspec.Struct):
    cursor: str


_decode_note = msgspec.json.Decoder(_Note).decode
_cursor_of = msgspec.json.Decoder(_Marked).decode


class _Form(NamedTuple):
    """How results are written: what stands at the top, and what becomes of the line of each."""

    top: bytes
    write: Callable[[bytes], bytes]
    is_parquet: bool = False


def _row(line: bytes) -> dict[str, Any]:
    """A result as a row: what is nested stands there as JSON."""
    result = msgspec.json.decode(line)
    outcome, document = result.get("outcome") or {}, result.get("document") or {}
    found = {name: result.get(name) for name in _PLAIN} | {name: outcome.get(name) for name in _OUTCOME}
    found |= {name: document.get(name) for name in _DOCUMENT}
    found |= {"finalUrl": document.get("url"), "pageMetadata": document.get("metadata")}
    return {
        name: msgspec.json.encode(value).decode() if isinstance(value, dict | list) else value
        for name, value in found.items()
    }


def _csv(row: Iterable[object]) -> bytes:
    written = io.StringIO(newline="")
    csv.writer(written).writerow(row)
    return written.getvalue().encode()


def _csv_row(line: bytes) -> bytes:
    row = _row(line)
    return _csv(row[name] for name in _COLUMNS)


_LINES = _Form(b"", lambda line: line + b"\n")
_FORMS = {
    ".jsonl": _LINES,
    ".ndjson": _LINES,
    ".csv": _Form(_csv(_COLUMNS), _csv_row),
    ".parquet": _LINES._replace(is_parquet=True),
}


def check_output(output: str | None, batch: str | None = None) -> None:
    """Say what is wrong with the file, for this batch or a new one; raises BadRequest."""
    if output is None or output == "-":
        return
    file = Path(output)
    if file.suffix not in _FORMS:
        raise BadRequest(f"{file}: results are written as {', '.join(_FORMS)}; choose one of these endings with -o")
    if _FORMS[file.suffix].is_parquet and find_spec("pyarrow") is None:
        raise BadRequest("Parquet needs pyarrow: install it with `pip install 'emissary-web[parquet]'`, or take .jsonl")
    if not file.parent.is_dir():
        raise BadRequest(f"{file} cannot be written: there is no directory {file.parent}")
    note = _read_note(file)
    if note is not None and note.batch != batch:
        what = f"{file} has a part of {note.batch}: go on with `emissary jobs results {note.batch} -o {file}`"
        raise BadRequest(f"{what}, or remove {_note_of(file)}")


def _note_of(file: Path) -> Path:
    return file.with_name(f".{file.name}.cursor")


def _read_note(file: Path) -> _Note | None:
    try:
        return _decode_note(_note_of(file).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise BadRequest(f"{_note_of(file)} cannot be read ({error}): remove it to begin anew") from error


class Download:
    """The results of one batch, on their way into a file or to standard output.

    A note beside the file says how far it is whole. Whoever comes back with the same batch and file goes on there.
    """

    def __init__(self, output: str, batch: str) -> None:
        check_output(output, batch)
        self._path = None if output == "-" else Path(output)
        self._form = _LINES if self._path is None else _FORMS[self._path.suffix]
        self._note = _Note(batch)
        self._is_whole = False
        self._file: IO[bytes]
        self.count = 0

    def __enter__(self) -> Self:
        if self._path is None:
            self._file = sys.stdout.buffer
            return self
        try:
            self._file = self._open(_read_note(self._path))
        except OSError as error:
            raise BadRequest(f"{self._path} cannot be written ({error.strerror}): choose another with -o") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._write_note()
        if self._path is not None:
            self._file.close()

    @property
    def cursor(self) -> str:
        return self._note.cursor

    def take(self, lines: Iterable[bytes]) -> None:
        """Write what has come since."""
        for line in lines:
            self._file.write(self._form.write(line))
            self._note.cursor = _cursor_of(line).cursor
            self.count += 1
            if self.count % _NOTED_EVERY == 0:
                self._write_note()
        self._write_note()

    def finish(self) -> None:
        """All of it has come."""
        self._write_note()
        self._is_whole = True
        if self._path is None:
            return
        if self._form.is_parquet:
            _to_parquet(self._partial(), self._path)
            self._partial().unlink()
        _note_of(self._path).unlink()

    def _partial(self) -> Path:
        assert self._path is not None
        return self._path.with_name(f".{self._path.name}.part") if self._form.is_parquet else self._path

    def _open(self, noted: _Note | None) -> IO[bytes]:
        if noted is not None and self._partial().exists():
            self._note = noted
            kept = self._partial().open("r+b")
            kept.truncate(noted.size)  # what stands behind it may be half a line
            kept.seek(noted.size)
            return kept
        file = self._partial().open("wb")
        file.write(self._form.top)
        return file

    def _write_note(self) -> None:
        self._file.flush()
        if self._path is None or self._is_whole:
            return
        self._note.size = self._file.tell()
        fresh = _note_of(self._path).with_suffix(".new")
        fresh.write_bytes(msgspec.json.encode(self._note))
        fresh.replace(_note_of(self._path))


def _to_parquet(lines: Path, output: Path) -> None:
    """Some hundred rows at a time: what has to be in memory is one group of them."""
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    numbers = {"index", "attempts", "httpStatus"}
    schema = arrow.schema([(name, arrow.int64() if name in numbers else arrow.string()) for name in _COLUMNS])
    with lines.open("rb") as file, parquet.ParquetWriter(output, schema) as writer:
        while rows := [_row(line) for line in islice(file, _NOTED_EVERY)]:
            writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
