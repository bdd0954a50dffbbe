"""What is wanted of a page, and what was taken from it, or why nothing was."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from emissary.model.ids import DocumentId
from emissary.model.pages import Document, Format, Image, Link, Structured

__all__ = ["Extracted", "Undoing", "Unextractable", "Wanted"]


class Wanted(msgspec.Struct, frozen=True):
    """What is to be made of a page; `links`, `images` and `structured` always speak of all of it."""

    formats: frozenset[Format]
    fields: str | None = None  # a field schema, as JSON
    only_main_content: bool = True


class Extracted(msgspec.Struct, frozen=True):
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
    missing: list[str] = []

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


class Undoing(StrEnum):
    """What a page did to whoever read it."""

    MEMORY = "memory"
    TIME = "time"
    SIZE = "size"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Unextractable:
    """The page came, and nothing can be taken from it: reading it again would end as badly."""

    why: Undoing
    detail: str
