"""From a page to its data, in the formats that were asked for and no others."""

from typing import Any

from emissary.model.extraction import Extracted, Wanted
from emissary.model.pages import Format, Page, Structured
from emissary.reading.charset import decode
from emissary.reading.extract.fields import Facts, FieldPlan, compile_json_fields
from emissary.reading.extract.links import images_of, links_of
from emissary.reading.extract.metadata import about_reply, metadata_of
from emissary.reading.extract.rendering import Kind, kind_of, render_markup, render_plain
from emissary.reading.extract.structured import structured_of
from emissary.reading.extract.tree import base_of, language_of, parse, title_of

__all__ = ["extract"]

_RENDERED = frozenset({Format.HTML, Format.MARKDOWN, Format.TEXT})
_WITH_BASE = _RENDERED | {Format.LINKS, Format.IMAGES, Format.METADATA, Format.STRUCTURED}


def extract(page: Page, wanted: Wanted) -> Extracted:
    """Everything that was asked for, of any page: whatever its bytes are, this answers."""
    kind = kind_of(page)
    plan = None if wanted.fields is None else compile_json_fields(wanted.fields.encode())
    if kind in (Kind.JSON, Kind.PLAIN):
        return _of_plain(page, wanted, plan, kind)
    return _of_markup(page, wanted, plan, kind)


def _of_plain(page: Page, wanted: Wanted, plan: FieldPlan | None, kind: Kind) -> Extracted:
    body = decode(page.body, page.charset)
    asked = wanted.formats
    said: dict[str, Any] = dict(render_plain(body, asked & _RENDERED, kind))
    said["fields"], said["missing"] = (None, []) if plan is None else plan.nothing()
    if Format.RAW_HTML in asked:
        said["raw_html"] = body
    if Format.METADATA in asked:
        said["metadata"] = about_reply(page)
    if Format.LINKS in asked:
        said["links"] = []
    if Format.IMAGES in asked:
        said["images"] = []
    if Format.STRUCTURED in asked:
        said["structured"] = Structured()
    return Extracted(url=page.url.href, **said)


def _of_markup(page: Page, wanted: Wanted, plan: FieldPlan | None, kind: Kind) -> Extracted:
    """Rendering comes last: it changes the tree that the others read."""
    asked = wanted.formats
    tree = parse(page.body if page.charset == "utf-8" else decode(page.body, page.charset))
    base = base_of(tree, page.url.href) if asked & _WITH_BASE or plan else page.url.href
    said: dict[str, Any] = {"title": title_of(tree), "language": language_of(tree)}
    if plan is not None:
        said["fields"], said["missing"] = plan.read(tree, Facts(base, said["language"]))
    if Format.RAW_HTML in asked:
        said["raw_html"] = decode(page.body, page.charset)
    if Format.LINKS in asked:
        said["links"] = links_of(tree, base)
    if Format.IMAGES in asked:
        said["images"] = images_of(tree, base)
    if Format.METADATA in asked:
        said["metadata"] = metadata_of(tree, base, page)
    if Format.STRUCTURED in asked:
        said["structured"] = structured_of(tree, base)
    if rendered := asked & _RENDERED:
        said |= render_markup(tree, base, rendered, kind, only_main_content=wanted.only_main_content)
    return Extracted(url=page.url.href, **said)
