"""Does with the published Python client what each line of the input says, and tells what came of it."""

import json
import re
import sys
from typing import Any

from firecrawl import Firecrawl  # type: ignore[import-not-found]  # in an environment of its own
from pydantic import BaseModel


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z]+)", lambda found: "_" + found[1].lower(), name)


def _done(client: Any, method: str, args: list[Any], options: dict[str, Any]) -> dict[str, Any]:
    # Where the other client takes the options of pages apart, this one takes them beside the rest.
    given = {**options.pop("options", {}), **options}
    try:
        answer = getattr(client, _snake(method))(*args, **{_snake(name): value for name, value in given.items()})
    except Exception as error:  # noqa: BLE001 - told, whatever it is
        told = {name: getattr(error, name, None) for name in ("status_code", "code")}
        kind, status = type(error).__name__, told["status_code"]
        return {"error": {"kind": kind, "status": status, "code": told["code"], "message": str(error)}}
    return {"answer": answer.model_dump(mode="json") if isinstance(answer, BaseModel) else answer}


def _main(api_url: str, api_key: str) -> None:
    client = Firecrawl(api_key=api_key, api_url=api_url)
    for line in sys.stdin:
        asked = json.loads(line)
        sys.stdout.write(json.dumps(_done(client, asked["method"], asked["args"], asked["options"])) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main(*sys.argv[1:])
