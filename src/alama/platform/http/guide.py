"""The guide at /docs/guide: the site that `make guide` makes of docs/, served from the package.

No part of the contract, which is for programs. What can be asked for are the files that are there
when the first is asked for, by their names: no path is ever put together from a request.
"""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from importlib import resources
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from alama.platform.http.documents import Published, page_headers
from alama.platform.http.exchange import Call, Reply
from alama.platform.http.operation import HTML
from alama.platform.http.problems import NoSuchPath
from alama.platform.http.reference import SmallPage, hash_of
from alama.platform.pages.render import join, tag

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.resources.abc import Traversable

    from alama.platform.http.exchange import Handler


PATH: Final = "/docs/guide"
FOLDER: Final = resources.files("alama").joinpath("guide")

_INLINE: Final = re.compile(r"<(script|style)\b[^>]*>(.*?)</\1>", re.DOTALL)
_TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".html": HTML,
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
_OTHER_TYPE: Final = "text/plain; charset=utf-8"

_NOT_BUILT: Final = SmallPage(
    "The guide is not here",
    join(
        tag("h1", "The guide is not here"),
        tag(
            "p",
            "This installation was made without it. Whoever runs the service builds it with ",
            tag("code", "make guide"),
            ", in the repository and before the package is built from there. The same pages can "
            "be read as text in the folder ",
            tag("code", "docs"),
            " of the repository.",
        ),
        tag("p", "The reference of the interface is always here, at ", tag("code", "/docs"), "."),
    ),
)


class Guide:
    """Answers without a key. A file is read and packed when it is first asked for, and kept."""

    def __init__(self, folder: Traversable) -> None:
        self._folder = folder
        self._files: Mapping[str, Traversable] = {}
        self._published: dict[str, Published] = {}

    def routes(self) -> dict[str, dict[str, Handler]]:
        """Give the paths and their methods."""
        return {PATH: {"GET": self.front}, f"{PATH}/{{file:path}}": {"GET": self.file}}

    async def front(self, _: Call) -> Reply:
        """Lead to the first page, whose links are seen from inside the folder."""
        if not await asyncio.to_thread(self._folder.is_dir):
            return _not_built()
        return Reply(302, [(b"location", b"guide/")], b"")

    async def file(self, call: Call) -> Reply:
        name = call.path_part("file")
        if not name or name.endswith("/"):
            name += "index.html"
        published = self._published.get(name) or await asyncio.to_thread(self._publish, name)
        if published is not None:
            return published.to(call)
        if not self._files:
            return _not_built()
        raise NoSuchPath("the guide has no such page", hint=f"{PATH} has its contents")

    def _publish(self, name: str) -> Published | None:
        if not self._files and self._folder.is_dir():
            self._files = dict(_below(self._folder))
        if name not in self._files:
            return None
        try:
            body = self._files[name].read_bytes()
        except FileNotFoundError:  # built anew since it was listed
            self._files = dict(_below(self._folder))
            return None
        media_type = _TYPES.get(PurePosixPath(name).suffix, _OTHER_TYPE)
        headers = page_headers(media_type, _content_security_policy(media_type, body))
        published = Published.of(body, headers)
        self._published[name] = published
        return published


def _below(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    """Give every file below a folder, by its path in it."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _below(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry


def _content_security_policy(media_type: str, body: bytes) -> str:
    """Allow what comes from here, and of what stands in the page itself that which it came with."""
    inline: dict[str, set[str]] = {"script": set(), "style": set()}
    if media_type in {HTML, _TYPES[".svg"]}:
        for kind, written in _INLINE.findall(body.decode(errors="replace")):
            if written:
                inline[kind].add(hash_of(written))
    scripts, styles = (" ".join(["'self'", *sorted(found)]) for found in inline.values())
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


def _not_built() -> Reply:
    headers = page_headers(HTML, _NOT_BUILT.content_security_policy)
    return Reply(HTTPStatus.NOT_FOUND, headers, _NOT_BUILT.html.encode())
