"""Extraction in place, or in child processes that a bad page can break without breaking more. Children import this."""
