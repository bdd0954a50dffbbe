"""Emissary reads the web for people, openly, and acts on what it read."""

__all__ = ["__version__"]

__version__ = "0.1.0"
