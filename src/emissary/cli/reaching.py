"""What the verbs on top of the client have in common: whom they speak to, and what may be asked for."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from emissary.cli.scrape import schema_in
from emissary.client import Emissary
from emissary.model.errors import BadRequest
from emissary.settings import load_settings
from emissary.telemetry.logs import configure_logs

__all__ = [
    "Fields",
    "Formats",
    "FullPage",
    "Json",
    "MaxAge",
    "Name",
    "Output",
    "Server",
    "Sitemap",
    "Wait",
    "is_served",
    "reach",
    "wishes",
]

Server = Annotated[
    str | None, typer.Option(help="The server's URL; EMISSARY_URL unless given, and without both it is done here.")
]
Json = Annotated[bool, typer.Option("--json", help="The answer as JSON, for scripts.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it has ended, and show how far it is.")]
Output = Annotated[
    str | None,
    typer.Option("-o", "--output", help="Write the results to this file: .jsonl, .csv or .parquet; - prints lines."),
]
Formats = Annotated[list[str] | None, typer.Option("--format", "-f", help="A format; may be repeated.")]
Fields = Annotated[Path | None, typer.Option(help="A YAML or JSON file with a field schema.", exists=True)]
FullPage = Annotated[bool, typer.Option("--full-page", help="Keep navigation, footers and the like.")]
MaxAge = Annotated[int | None, typer.Option(help="Seconds that a copy may be old that is given instead of the page.")]
Sitemap = Annotated[
    Literal["include", "skip", "only"] | None, typer.Option(help="Whether pages are found by sitemaps as well.")
]
Name = Annotated[str | None, typer.Option(help="A name of yours for all of it.")]


def is_served(server: str | None, account: str | None) -> bool:
    """Whether a server is asked, and not the data directory, where alone another's account may be named."""
    if server is None and load_settings().url is None:
        return False
    if account is not None:
        what = "--account is for the data directory itself, and a server shows a key its own account"
        raise BadRequest(f"{what}: use the operator's routes under /v1/admin/accounts, or name no server")
    return True


@contextmanager
def reach(server: str | None) -> Iterator[Emissary]:
    """The client: of the server that is named, or else everything in this process."""
    settings = load_settings()
    configure_logs(settings.log, "error")
    if server is None and settings.url is None:
        with Emissary.open() as client:
            yield client
    else:
        with Emissary(server or str(settings.url)) as client:
            yield client


def wishes(formats: list[str] | None, fields: Path | None, *, full_page: bool, **others: object) -> dict[str, Any]:
    """What was asked for, by the client's names; what was not said is left to the server."""
    asked = {
        "formats": formats or (None if fields is None else ["fields"]),
        "fields": None if fields is None else schema_in(fields),
        "only_main_content": False if full_page else None,
        **others,
    }
    return {name: value for name, value in asked.items() if value is not None}
