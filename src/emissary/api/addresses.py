"""What the address of a request says, looked at before anything is asked of the store: ids, and names in the query."""

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute

from emissary.api.limits import is_long_list
from emissary.model.errors import BadRequest, NotFound

__all__ = ["STRICT", "check_address"]

STRICT = "/v1/"  # elsewhere, what is asked for in vain is passed over, as the other format's clients expect
_NUL = "\0"  # PostgreSQL keeps none in a text, nor looks for one


def check_address(request: Request) -> None:
    """Raises NotFound for an id that nothing can have, and BadRequest where the query does not fit the route."""
    for given in request.path_params.values():
        if _NUL in str(given):
            raise NotFound(f"there is nothing under {given}")
    if request.query_params and not is_long_list(request.scope):  # whose options are in the query, and read like a body
        _check_query(request)


def _check_query(request: Request) -> None:
    known = _names_of(request.scope["route"])
    if request.url.path.startswith(STRICT):
        _check_names(sorted(set(request.query_params) - known), known)
    for name, value in request.query_params.multi_items():
        if name in known and _NUL in value:
            raise _nothing_by(name)


def _check_names(unknown: list[str], known: frozenset[str]) -> None:
    if unknown:
        there = ", ".join(f"`{name}`" for name in sorted(known)) or "nothing"
        said = ", ".join(f"`{name}`" for name in unknown)
        raise BadRequest(f"the query has {said}, which this route does not know; it takes {there}", "unknown_field")


def _nothing_by(name: str) -> BadRequest:
    if name == "after":
        return BadRequest("this is not a cursor: use a `next` of an earlier answer", "invalid_cursor")
    return BadRequest(f"`{name}` has a NUL character in it, which nothing here has: leave it out")


def _names_of(route: APIRoute) -> frozenset[str]:
    """The names in the query that the route and what it depends on have declared."""
    return frozenset(field.alias for field in get_flat_params(route.dependant) if isinstance(field.field_info, Query))
