"""Faults are made on real processes; their helpers live beside the tests of the API."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "api"))
