"""The texts of the local web: pure functions from a number to a page, all of it our own writing."""
