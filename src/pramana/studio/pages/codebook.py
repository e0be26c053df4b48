"""The codebook of a release: every column and its values, with their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pramana.studio import analyst
from pramana.studio.pages.release import folder_word, release_of
from pramana.studio.view import Entry, SameWork, page, part, studio_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["ENTRY", "ROUTES"]

ENTRY: Final = Entry("/codebook", "Codebook", needs="release", group="analyst")


async def show(request: Request) -> Response:
    """The page; the columns come when they are read."""
    name = studio_of(request).session.now.analysed
    return page(request, "codebook.html", same=_same(name) if name else None)


def _same(name: str) -> SameWork:
    python = (
        f"import pramana as pm\n\nrelease = pm.load({name!r})\n"
        "print(release)\nprint(release.certificate.labels)"
    )
    return SameWork((("cat", f"{folder_word(name)}/codebook.csv"),), python)


async def listed(request: Request) -> Response:
    """The columns and their values."""
    studio = studio_of(request)
    job = studio.jobs.ask(analyst.describe, **release_of(studio))
    return await part(request, job, "parts/codebook.html")


ROUTES: Final = (("GET", "/codebook", show), ("GET", "/codebook/listed", listed))
