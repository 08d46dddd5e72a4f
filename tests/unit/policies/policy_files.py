"""Policies in files of the working folder, and what commands say about them."""

from pathlib import Path

from alama.app.cli import main
from alama.core.lending import policy_text
from alama.core.lending.draft import default_text
from alama.core.lending.policy import Policy


def run(*arguments: str) -> int:
    return main(["policy", *arguments])


def digits(policy: Policy) -> str:
    return policy.id.removeprefix("sha256:")[:12]


def written(name: str, *changes: tuple[str, str], more: str = "", currency: str = "KES") -> Policy:
    """Write a policy into `name`.toml: the default, by that name, with texts replaced."""
    text = default_text(currency).decode().replace(f"default {currency}", name) + more
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    Path(f"{name}.toml").write_text(text, "utf-8")
    return policy_text.read(text.encode())


def squeezed(text: str) -> list[str]:
    """The lines of a table, a single space between two words."""
    return [" ".join(line.split()) for line in text.splitlines()]
