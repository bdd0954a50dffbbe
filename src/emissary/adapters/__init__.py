"""The outside world behind ports."""
