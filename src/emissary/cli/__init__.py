"""The command line: one file for each verb."""

from emissary.cli.app import main

__all__ = ["main"]
