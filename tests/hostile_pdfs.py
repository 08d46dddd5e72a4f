"""PDFs that mean harm: bombs made by hand, and mutations of one that is sound."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final


def pdf_of(objects: Sequence[bytes], root: int = 1) -> bytes:
    """Give a file of objects, numbered from 1 on."""
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    for place in places:
        out += b"%010d 00000 n \n" % place
    out += b"trailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n" % (len(objects) + 1, root)
    return bytes(out + b"%d\n%%%%EOF\n" % table)


def _stream(content: bytes, extra: bytes = b"") -> bytes:
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(content), extra, content)


def _one_page(content: bytes, page: bytes = b"/MediaBox [0 0 595 842]") -> bytes:
    return pdf_of(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R %b /Contents 4 0 R /Resources 6 0 R >>" % page,
            content,
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            b"<< /Font << /F1 5 0 R >> >>",
        ]
    )


def giant_stream(megabytes: int) -> bytes:
    """Give a page whose content is spaces without end once it is unpacked."""
    packer = zlib.compressobj(9)
    begin = packer.compress(b" ") + packer.flush(zlib.Z_FULL_FLUSH)
    # What follows such a flush stands for itself, so it can stand there again and again.
    more = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return _one_page(_stream(begin + more * megabytes, b"/Filter /FlateDecode"))


def stream_in_streams(times: int) -> bytes:
    """Give a page whose content was packed over and over."""
    content = b"q Q " * 1_000_000
    for _ in range(times):
        content = zlib.compress(content)
    filters = b"/Filter [" + b"/FlateDecode " * times + b"]"
    return _one_page(_stream(content, filters))


def many_words(count: int) -> bytes:
    """Give a page with more words than anybody reads."""
    shown = b"BT /F1 1 Tf 1 0 0 1 %d %d Tm (1,200.00) Tj ET\n"
    content = b"".join(shown % (n % 600, n % 800) for n in range(count))
    return _one_page(_stream(zlib.compress(content), b"/Filter /FlateDecode"))


def deep_arrays(depth: int) -> bytes:
    return _one_page(_stream(b"[" * depth + b"]" * depth + b" TJ"), b"/MediaBox " + b"[" * depth)


def huge_page() -> bytes:
    return _one_page(_stream(b"0 0 m"), b"/MediaBox [0 0 1e30 1e30] /UserUnit 1e9")


def page_in_itself() -> bytes:
    return pdf_of(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2147483647 /Parent 2 0 R >>",
        ]
    )


def many_pages(count: int) -> bytes:
    kids = b" ".join(b"%d 0 R" % (3 + n) for n in range(count))
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"
    pages = b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, count)
    return pdf_of([b"<< /Type /Catalog /Pages 2 0 R >>", pages, *([page] * count)])


def many_objects(count: int) -> bytes:
    return pdf_of([b"<< /Type /Catalog /Pages 2 0 R >>", *([b"[0]"] * count)])


def form_in_itself() -> bytes:
    """Give a page that draws a form that draws itself, twice."""
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources 5 0 R"
    return pdf_of(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources 5 0 R >>",
            _stream(b"/X Do /X Do", form),
            b"<< /XObject << /X 4 0 R >> >>",
        ]
    )


BOMBS: Final[dict[str, Callable[[], bytes]]] = {
    "giant stream": lambda: giant_stream(2_000),
    "stream in streams": lambda: stream_in_streams(12),
    "many words": lambda: many_words(300_000),
    "deep arrays": lambda: deep_arrays(100_000),
    "huge page": huge_page,
    "page in itself": page_in_itself,
    "many pages": lambda: many_pages(20_000),
    "many objects": lambda: many_objects(200_000),
    "form in itself": form_in_itself,
}


def mutations(sound: Sequence[bytes], count: int, seed: int) -> Iterator[bytes]:
    """Give sound files with a few bits, bytes or pieces changed, lost, doubled or swapped."""
    chance = random.Random(seed)  # noqa: S311 - repeatable on purpose
    for _ in range(count):
        content = bytearray(chance.choice(sound))
        for _ in range(chance.choice((1, 1, 2, 5, 30))):
            chance.choice(_CHANGES)(content, chance, sound)
        yield bytes(content)


def _flip(content: bytearray, chance: random.Random, _: Sequence[bytes]) -> None:
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def _cut(content: bytearray, chance: random.Random, _: Sequence[bytes]) -> None:
    del content[chance.randrange(16, max(len(content), 17)) :]
    content += b"\n" * (16 - len(content))


def _lose(content: bytearray, chance: random.Random, _: Sequence[bytes]) -> None:
    start = chance.randrange(len(content))
    del content[start : start + chance.randrange(1, 200)]
    content += b"\n" * (16 - len(content))


def _splice(content: bytearray, chance: random.Random, sound: Sequence[bytes]) -> None:
    other = chance.choice(sound)
    start, at = chance.randrange(len(other)), chance.randrange(len(content))
    content[at:at] = other[start : start + chance.randrange(1, 2_000)]


def _number(content: bytearray, chance: random.Random, _: Sequence[bytes]) -> None:
    """Put another number where one stands: a length, a count, a place."""
    at = chance.randrange(len(content))
    for place in range(at, min(at + 500, len(content))):
        if 0x30 <= content[place] <= 0x39:
            content[place : place + 1] = chance.choice((b"0", b"-1", b"99999999", b"2147483648"))
            return


_CHANGES: Final = (_flip, _cut, _lose, _splice, _number, _number)
