"""Recognises what some sites put in place of a page, so that it is never read as content. Pure.

The gate looks at every answer and costs next to nothing; only what it finds odd is parsed and judged. We recognise
walls in order to say so: nothing here, or anywhere else, goes round one.
"""

from emissary.reading.walls.recognition import recognise
from emissary.reading.walls.view import refresh_of
from emissary.reading.walls.way import Reaction
from emissary.reading.walls.weighing import Wall

__all__ = ["Reaction", "Wall", "recognise", "refresh_of"]
