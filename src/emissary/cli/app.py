"""The verbs, and the one place where an error becomes an exit code."""

import sys

import typer

from emissary import __version__
from emissary.cli import batch, captures, demo, doctor, identity, jobs, keys, mcp, owner, scrape, sites, up, usage, work
from emissary.cli.output import Exit, complain
from emissary.client import ApiError
from emissary.model.errors import BadRequest, EmissaryError, NotFound, SettingsError, TooManyKeys

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
app.command("batch")(batch.batch)
app.command("crawl")(batch.crawl)
app.command("map")(sites.map_site)
app.command("plan")(sites.plan)
app.add_typer(jobs.verbs, name="jobs")
app.command("mcp")(mcp.mcp)
app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)
app.add_typer(captures.verbs, name="captures")
app.add_typer(identity.verbs, name="identity")
app.add_typer(owner.verbs, name="owner")
app.add_typer(keys.verbs, name="keys")
app.command("usage")(usage.usage)


@app.command("version")
def version() -> None:
    """Say which version this is."""
    print(__version__)


def main() -> None:
    """Run the command line."""
    try:
        app()
    except (BadRequest, NotFound, SettingsError, TooManyKeys) as error:
        complain(error.detail)
        sys.exit(Exit.USAGE)
    except ApiError as error:
        complain(error.detail)
        sys.exit(Exit.USAGE if error.is_callers else Exit.INTERNAL)
    except EmissaryError as error:
        complain(error.detail)
        sys.exit(Exit.INTERNAL)
