"""What the making of a PDF says of it.

None of it proves anything: software that draws statements is public, and an honest applicant may
have saved the file again. So most are doubts, for a person.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from alama.statements.ledger import Check, Declared, Verdict

if TYPE_CHECKING:
    from alama.statements.pdf.reader import PdfDocument, PdfFacts

_EDITORS: Final = re.compile(
    r"photoshop|illustrator|indesign|acrobat|canva|coreldraw|inkscape|gimp|figma|affinity|word|"
    r"excel|powerpoint|libreoffice|openoffice|pages|skia|chrom(?:e|ium)|quartz|print to pdf|"
    r"ghostscript|sejda|smallpdf|ilovepdf|pdfescape|pdffiller|dochub|foxit|nitro|wondershare|"
    r"pdfelement|pdf-?xchange|pdftk|qpdf|pypdf|pymupdf|mupdf|pikepdf|pdf ?candy|soda pdf|wps|"
    r"camscanner|cairo|wkhtmltopdf|weasyprint|tcpdf|fpdf|dompdf|latex|pdf-lib|pdfsam",
    re.IGNORECASE,
)
"""Programs that edit, draw or print: none that a provider's own system is known to be made with."""

_MOMENT: Final = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?")
_PAGE_OF: Final = re.compile(r"page (\d{1,4}) of (\d{1,4})", re.IGNORECASE)


def checks_of(document: PdfDocument, declared: Declared) -> tuple[Check, ...]:
    """Check what the file tells of its making."""
    facts = document.facts
    return (
        _software(facts),
        _dates(facts, declared),
        _updates(facts),
        _fonts(document),
        _pages(document),
    )


def _software(facts: PdfFacts) -> Check:
    found = _EDITORS.search(f"{facts.producer}\n{facts.creator}")
    if found is not None:
        told = f"made or saved by a program that edits or prints ({found[0].casefold()})"
        return Check("pdf_software", Verdict.CANNOT_TELL, told)
    return Check("pdf_software", Verdict.PASS, "no program that edits or prints is named")


def _day(told: re.Match[str]) -> date | None:
    try:
        return date(int(told[1]), int(told[2] or 1), int(told[3] or 1))
    except ValueError:
        return None


def _dates(facts: PdfFacts, declared: Declared) -> Check:
    created, modified = (_MOMENT.match(told) for told in (facts.created, facts.modified))
    made = None if created is None else _day(created)
    # A day earlier: the file's clock may be in another zone.
    if made and declared.last_day and made < declared.last_day - timedelta(days=1):
        return Check("pdf_dates", Verdict.FAIL, "the file was made before its period was over")
    if created is not None and modified is not None and created[0] != modified[0]:
        return Check("pdf_dates", Verdict.CANNOT_TELL, "the file was changed after it was made")
    return Check("pdf_dates", Verdict.PASS, "the file tells of no later change")


def _updates(facts: PdfFacts) -> Check:
    if facts.updates:
        told = f"something was appended to the file after it was whole, {facts.updates} times"
        return Check("pdf_updates", Verdict.CANNOT_TELL, told)
    if facts.saved_again:
        return Check("pdf_updates", Verdict.CANNOT_TELL, "another program has saved the file again")
    return Check("pdf_updates", Verdict.PASS, "the file was written once")


def _fonts(document: PdfDocument) -> Check:
    fonts = Counter(row.font for row in document.rows)
    if len(fonts) > 1:
        usual, _ = fonts.most_common(1)[0]
        odd = [row for row in document.rows if row.font != usual]
        told = (
            f"figures of {len(odd)} rows are in another font than the others, the first on page "
            f"{odd[0].page}, row {odd[0].line}"
        )
        return Check("pdf_fonts", Verdict.CANNOT_TELL, told)
    return Check("pdf_fonts", Verdict.PASS, "the figures of all rows are in one font")


def _pages(document: PdfDocument) -> Check:
    said = [
        (int(found[1]), int(found[2]))
        for cells in (*document.head, *document.tail)
        for cell in cells
        for found in [_PAGE_OF.search(cell)]
        if found is not None
    ]
    pages = document.facts.pages
    wrong = [(page, of) for page, of in said if of != pages or page > pages]
    if wrong:
        told = f"a page says that there are {wrong[0][1]} pages, and the file has {pages}"
        return Check("pdf_pages", Verdict.FAIL, told)
    return Check("pdf_pages", Verdict.PASS, f"{pages} pages, none is said to be missing")
