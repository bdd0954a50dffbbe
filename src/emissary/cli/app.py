"""The verbs, and the one place where an error becomes an exit code."""

import sys
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from emissary import __version__
from emissary.cli.output import Exit, complain
from emissary.model.errors import EmissaryError

__all__ = ["main"]

# Where each verb is; what ends in `verbs` has verbs of its own.
_VERBS = {
    "up": "up.up",
    "work": "work.work",
    "scrape": "scrape.scrape",
    "batch": "batch.batch",
    "crawl": "batch.crawl",
    "map": "sites.map_site",
    "plan": "sites.plan",
    "jobs": "jobs.verbs",
    "mcp": "mcp.mcp",
    "demo": "demo.demo",
    "doctor": "doctor.doctor",
    "captures": "captures.verbs",
    "identity": "identity.verbs",
    "owner": "owner.verbs",
    "keys": "keys.verbs",
    "usage": "usage.usage",
}


class _Verbs(TyperGroup):
    """Imports a verb when it is used: to list keys takes neither the API nor the demo, and half the time."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*_VERBS, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in _VERBS and cmd_name not in self.commands:
            self.add_command(_load(cmd_name), cmd_name)
        return super().get_command(ctx, cmd_name)


def _load(name: str) -> Any:
    module, _, what = _VERBS[name].partition(".")
    verb = getattr(import_module(f"emissary.cli.{module}"), what)
    alone = typer.Typer(rich_markup_mode=None)
    alone.callback()(_nothing)  # else it would be the verb itself, and not have it
    if isinstance(verb, typer.Typer):
        alone.add_typer(verb, name=name)
    else:
        alone.command(name)(verb)
    found: Any = typer.main.get_command(alone)
    return found.commands[name]


def _nothing() -> None:
    pass


app = typer.Typer(
    name="emissary",
    cls=_Verbs,
    help="Emissary reads the web for people, openly.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.callback()(_nothing)


@app.command("version")
def version() -> None:
    """Say which version this is."""
    print(__version__)


def main() -> None:
    """Run the command line."""
    try:
        app()
    except EmissaryError as error:
        _end(error)
    except ExceptionGroup as group:
        if (found := _alone_in(group)) is None:
            raise
        _end(found)


def _alone_in(group: ExceptionGroup[Exception]) -> EmissaryError | None:
    """The one error of ours in it: tasks that ran beside wrap whatever ends them, also what is just to be said."""
    inner: Exception = group
    while isinstance(inner, ExceptionGroup) and len(inner.exceptions) == 1:
        (inner,) = inner.exceptions
    return inner if isinstance(inner, EmissaryError) else None


def _end(error: EmissaryError) -> NoReturn:
    complain(error.detail)
    sys.exit(Exit.USAGE if error.is_callers else Exit.INTERNAL)
