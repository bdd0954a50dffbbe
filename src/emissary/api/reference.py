"""The API's reference as a page of its own, made from the OpenAPI document: no script, nothing from elsewhere."""

import json
import re
from html import escape
from typing import Any

from fastapi import FastAPI
from starlette.responses import HTMLResponse

__all__ = ["install_reference"]

_STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent) }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 62rem; margin: 2.5rem auto; padding: 0 1.2rem }
h1 { margin-bottom: .2rem } h2 { margin: 2.4rem 0 .4rem; font-size: 1.1rem } p { margin: .4rem 0 }
code, .method { font-family: ui-monospace, monospace; font-size: .92em }
.method { font-weight: 700; margin-right: .6em } .quiet { opacity: .7 }
table { border-collapse: collapse; width: 100%; margin: .6rem 0 } th { font-weight: 600 }
td, th { text-align: left; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
""".strip()


def install_reference(app: FastAPI) -> None:
    """Serve the reference at /docs."""

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(render(app.openapi()))


def render(document: dict[str, Any]) -> str:
    """The page for an OpenAPI document."""
    info = document["info"]
    routes = [
        _operation(document, path, method, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(info["title"])} API</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>{escape(info['title'])} <span class=quiet>{escape(info['version'])}</span></h1>"
        f"<p>{escape(info['description'])} The same for machines: <a href=/openapi.json>openapi.json</a>.</p>"
        + "".join(routes)
    )


def _operation(document: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> str:
    answers = ", ".join(f"<code>{escape(status)}</code>" for status in operation["responses"])
    return (
        f"<h2><span class=method>{method.upper()}</span><code>{escape(path)}</code></h2>"
        f"<p><strong>{escape(operation.get('summary', ''))}</strong> — {_prose(operation.get('description', ''))}</p>"
        f"{_body(document, operation)}<p class=quiet>Answers {answers}.</p>"
    )


def _body(document: dict[str, Any], operation: dict[str, Any]) -> str:
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if schema is None:
        return ""
    resolved = _resolve(document, schema)
    required = set(resolved.get("required", ()))
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code>{' <span class=quiet>needed</span>' if name in required else ''}</td>"
        f"<td>{escape(_default(field))}</td><td>{_prose(_resolve(document, field).get('description', ''))}</td></tr>"
        for name, field in resolved.get("properties", {}).items()
    )
    return f"<table><tr><th>field</th><th>if left out</th><th>meaning</th></tr>{rows}</table>"


def _resolve(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    if reference is None or "description" in schema:
        return schema
    found: dict[str, Any] = document["components"]["schemas"][reference.rpartition("/")[2]]
    return found


def _default(field: dict[str, Any]) -> str:
    default = field.get("default")
    return "" if default is None else json.dumps(default)


def _prose(text: str) -> str:
    """Text as HTML, with what stands between backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))
