"""The verbs, and the one place where an error becomes an exit code."""

import sys

import typer

from emissary import __version__
from emissary.cli import captures, demo, doctor, identity, owner, scrape, up, work
from emissary.cli.output import Exit, complain
from emissary.model.errors import BadRequest, EmissaryError, SettingsError

__all__ = ["main"]

app = typer.Typer(
    name="emissary",
    help="Emissary reads the web for people, openly.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("up")(up.up)
app.command("work")(work.work)
app.command("scrape")(scrape.scrape)
app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)
app.add_typer(captures.verbs, name="captures")
app.add_typer(identity.verbs, name="identity")
app.add_typer(owner.verbs, name="owner")


@app.command("version")
def version() -> None:
    """Say which version this is."""
    print(__version__)


def main() -> None:
    """Run the command line."""
    try:
        app()
    except (BadRequest, SettingsError) as error:
        complain(error.detail)
        sys.exit(Exit.USAGE)
    except EmissaryError as error:
        complain(error.detail)
        sys.exit(Exit.INTERNAL)
