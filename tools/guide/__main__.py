"""Makes the guide of docs/, which the service serves at /docs/guide: `make guide`.

Pages are written to be read on a code host. They are laid out for the site here, links between
them follow, and files that they link to come along. A link that leads nowhere, a page that no
section names, or any other warning fails the build.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sphinx.cmd.build import main as sphinx_build

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).parents[2]
HERE: Final = Path(__file__).parent
BUILT: Final = ROOT / "src" / "alama" / "guide"

START: Final = "README.md"
DECISIONS: Final = "docs/decisions/README.md"
SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Get started": (START,),
    "Integrate": (
        "docs/fields.md",
        "docs/statements.md",
        "docs/pdf-statements.md",
        "docs/own-fields.md",
        "docs/errors.md",
        "docs/sandbox.md",
        "sdk/python/README.md",
        "sdk/typescript/README.md",
        "sdk/java/README.md",
        "docs/remote.md",
        "recipes/README.md",
        "recipes/python/README.md",
        "recipes/typescript/README.md",
        "recipes/java/README.md",
        "recipes/fineract/README.md",
        "recipes/warehouse/README.md",
        "docs/webhooks.md",
        "docs/receiving-webhooks.md",
        "docs/versions.md",
        "docs/generated/codes.md",
    ),
    "Decide": (
        "docs/policy.md",
        "docs/changing-a-policy.md",
        "docs/jurisdictions.md",
        "docs/lists.md",
        "docs/explaining.md",
        "docs/reviews.md",
        "docs/loans.md",
        "docs/outcomes.md",
        "docs/monitoring.md",
        "docs/challengers.md",
        "docs/recalibrating.md",
        "docs/generated/reasons.md",
        "docs/generated/jurisdictions.md",
    ),
    "Onboard": (
        "docs/onboarding.md",
        "docs/onboarding-http.md",
        "docs/validation-checklist.md",
        "docs/population.md",
        "docs/generated/leaks.md",
    ),
    "Operate": (
        "docs/operating/README.md",
        "docs/operating/containers.md",
        "docs/operating/kubernetes.md",
        "docs/settings.md",
        "docs/keys.md",
        "docs/operating/secrets.md",
        "docs/operating/doctor.md",
        "docs/operating/failures.md",
        "docs/operating/backup.md",
        "docs/operating/upgrading.md",
        "docs/logs-and-metrics.md",
        "docs/generated/sizing.md",
    ),
    "Protect": (
        "docs/security.md",
        "docs/data-protection.md",
        "docs/audit.md",
        "docs/receipts.md",
        "SECURITY.md",
    ),
    "Understand": (
        "docs/glossary.md",
        "ARCHITECTURE.md",
        DECISIONS,
        "docs/generated/benchmarks.md",
        "docs/generated/licences.md",
        "CONTRIBUTING.md",
        "sdk/contract/README.md",
        "CHANGELOG.md",
    ),
}

TITLES: Final[Mapping[str, str]] = {
    START: "What it is, in two commands",
    "sdk/python/README.md": "Client for Python",
    "sdk/typescript/README.md": "Client for TypeScript",
    "sdk/java/README.md": "Client for Java",
}
"""What the contents call a page whose heading says too little there."""

SHIPPED: Final = ("furo", "pygments", "snowballstemmer", "sphinx")
"""Whose scripts and styles lie in the site, each with its licence."""

_LINK: Final = re.compile(r"(?<=\]\()(?!\w+:)([^)#\s]+)")
_ATTRIBUTES: Final = {
    ' style="display: none;"': " hidden",
    ' style="opacity: 50%"': ' opacity="0.5"',
}


def sources() -> list[Path]:
    """Give every page of the site, as it stands in the repository."""
    decisions = (ROOT / DECISIONS).parent.glob("0*.md")
    named = [ROOT / name for pages in SECTIONS.values() for name in pages]
    every = {*named, *decisions, *(ROOT / "docs").rglob("*.md")}
    return sorted(every)


def place(page: Path) -> str:
    """Give the name of a page in the site; its ending stays away."""
    name = page.relative_to(ROOT).with_suffix("").as_posix().removeprefix("docs/")
    if page.parent == ROOT:
        name = "reporting" if name == "SECURITY" else name.lower()
    return re.sub(r"(?:^|(?<=/))(?:README|readme)$", "index", name)


def lay_out(folder: Path) -> None:
    """Write every page to its place in a folder, and what they link to."""
    places = {page: place(page) for page in sources()}
    for page, name in places.items():
        laid = folder / f"{name}.md"
        laid.parent.mkdir(parents=True, exist_ok=True)

        def followed(link: re.Match[str], page: Path = page, laid: Path = laid) -> str:
            target = (page.parent / link[1]).resolve()
            if target in places:
                there = folder / f"{places[target]}.md"
            elif target.is_file() and target.is_relative_to(ROOT):
                there = folder / "files" / target.relative_to(ROOT)
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(target, there)
            else:
                sys.exit(f"{page.relative_to(ROOT)}: {link[1]} is no page and no file")
            return os.path.relpath(there, laid.parent)

        laid.write_text(_LINK.sub(followed, page.read_text("utf-8")) + contents(page), "utf-8")


def contents(page: Path) -> str:
    """Give the pages that stand below a page."""
    if page == ROOT / DECISIONS:
        return toctree("", sorted(path.stem for path in page.parent.glob("0*.md")))
    if page != ROOT / START:
        return ""
    return "".join(
        toctree(f":caption: {section}\n", [entry(name) for name in pages])
        for section, pages in SECTIONS.items()
    )


def entry(name: str) -> str:
    """Give a page as the contents of the first page name it."""
    there = "self" if name == START else place(ROOT / name)
    return f"{TITLES[name]} <{there}>" if name in TITLES else there


def toctree(options: str, names: list[str]) -> str:
    return f"\n```{{toctree}}\n:hidden:\n{options}\n" + "\n".join(names) + "\n```\n"


def build(into: Path) -> None:
    """Make the site in a new folder; the same sources give the same bytes."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1577836800")
    gc.disable()  # about a fifth of the time, for at most 170 MB a process
    with tempfile.TemporaryDirectory() as work:
        laid = Path(work, "pages")
        lay_out(laid)
        options = ["--quiet", "--fail-on-warning", "--keep-going", "--nitpicky", "--jobs=auto"]
        folders = ["--doctree-dir", f"{work}/doctrees", "--conf-dir", str(HERE)]
        if sphinx_build([*options, *folders, "--builder", "html", str(laid), str(into)]):
            sys.exit("the guide was not built")
    tidy(into)


def tidy(site: Path) -> None:
    """Take away what is not served, and attributes that its security policy would refuse."""
    for path in (site / ".buildinfo", site / "objects.inv", *site.rglob("*.map")):
        path.unlink()
    (site / "_sources").rmdir()
    for name in SHIPPED:
        files = metadata.distribution(name).files or []
        (licence,) = [
            file for file in files if re.search(r"/(?:LICENSE|COPYING)[.a-z]*$", str(file))
        ]
        shutil.copyfile(licence.locate(), site / "_static" / f"{name}-licence.txt")
    for page in site.rglob("*.html"):
        html = page.read_text("utf-8")
        for refused, allowed in _ATTRIBUTES.items():
            html = html.replace(refused, allowed)
        if found := re.search(r"<[^>]* (?:style|on[a-z]+)=[^>]*>", html):
            sys.exit(f"{page.relative_to(site)}: the security policy refuses {found[0]}")
        page.write_text(html, "utf-8")


def main() -> None:
    """Build beside what is served, which is replaced when all is well."""
    into = Path(sys.argv[1]) if sys.argv[1:] else BUILT
    fresh = into.with_name(f".{into.name}.part")
    shutil.rmtree(fresh, ignore_errors=True)
    build(fresh)
    shutil.rmtree(into, ignore_errors=True)
    fresh.rename(into)


if __name__ == "__main__":
    main()
