"""From a page to its data, in the formats that were asked for and no others."""

from dataclasses import dataclass, field
from typing import Any

from emissary.model.ids import DocumentId
from emissary.model.pages import Document, Format, Image, Link, Page, Structured
from emissary.reading.charset import decode
from emissary.reading.extract.fields.plan import Facts, FieldPlan
from emissary.reading.extract.links import images_of, links_of
from emissary.reading.extract.metadata import about_reply, metadata_of
from emissary.reading.extract.rendering import Kind, kind_of, render_markup, render_plain
from emissary.reading.extract.structured import structured_of
from emissary.reading.extract.tree import base_of, language_of, parse, title_of

__all__ = ["Extracted", "Wanted", "extract"]

_RENDERED = frozenset({Format.HTML, Format.MARKDOWN, Format.TEXT})
_WITH_BASE = _RENDERED | {Format.LINKS, Format.IMAGES, Format.METADATA, Format.STRUCTURED}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be made of a page; `links`, `images` and `structured` always speak of all of it."""

    formats: frozenset[Format]
    fields: FieldPlan | None = None
    only_main_content: bool = True


@dataclass(frozen=True, slots=True)
class Extracted:
    """A page as data; None where nothing was asked."""

    url: str
    title: str | None = None
    language: str | None = None
    raw_html: str | None = None
    html: str | None = None
    markdown: str | None = None
    text: str | None = None
    links: list[Link] | None = None
    images: list[Image] | None = None
    metadata: dict[str, Any] | None = None
    structured: Structured | None = None
    fields: dict[str, Any] | None = None
    missing: list[str] = field(default_factory=list)

    def to_document(self, document_id: DocumentId, source_url: str) -> Document:
        """The same as the API shows it, under its own name and beside the URL that was asked for."""
        return Document(
            id=document_id,
            url=self.url,
            source_url=source_url,
            title=self.title,
            language=self.language,
            raw_html=self.raw_html,
            html=self.html,
            markdown=self.markdown,
            text=self.text,
            links=self.links,
            images=self.images,
            metadata=self.metadata,
            structured=self.structured,
            fields=self.fields,
            missing=self.missing or None,
        )


def extract(page: Page, wanted: Wanted) -> Extracted:
    """Everything that was asked for, of any page: whatever its bytes are, this answers."""
    kind = kind_of(page)
    if kind in (Kind.JSON, Kind.PLAIN):
        return _of_plain(page, wanted, kind)
    return _of_markup(page, wanted, kind)


def _of_plain(page: Page, wanted: Wanted, kind: Kind) -> Extracted:
    body = decode(page.body, page.charset)
    asked = wanted.formats
    said: dict[str, Any] = dict(render_plain(body, asked & _RENDERED, kind))
    said["fields"], said["missing"] = wanted.fields.nothing() if wanted.fields else (None, [])
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


def _of_markup(page: Page, wanted: Wanted, kind: Kind) -> Extracted:
    """Rendering comes last: it changes the tree that the others read."""
    asked = wanted.formats
    tree = parse(page.body if page.charset == "utf-8" else decode(page.body, page.charset))
    base = base_of(tree, page.url.href) if asked & _WITH_BASE or wanted.fields else page.url.href
    said: dict[str, Any] = {"title": title_of(tree), "language": language_of(tree)}
    if wanted.fields is not None:
        said["fields"], said["missing"] = wanted.fields.read(tree, Facts(base, said["language"]))
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
