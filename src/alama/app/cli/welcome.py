"""What somebody reads who tries the service for the first time."""

from __future__ import annotations

from typing import Final

from rich.text import Text

# The four fields that every application has, of the sample that `alama explain` shows.
APPLICATION: Final = """\
{"mobile_money_months": 26, "monthly_inflow": 23800,
       "stability_score": 0.58, "airtime_regularity": 0.71}"""


def text(address: str, key: str, days: int) -> Text:
    """Give the welcome: where the service is, a key to it, and a request to paste."""
    return Text.assemble(
        ("\n  Alama is ready at ", "bold"),
        (address, "bold cyan"),
        f"\n  What it can be asked: {address}/docs\n\n",
        ("  Your test key", "bold"),
        f", for {days} days and people who do not exist:\n\n",
        (f"  {key}\n\n", "green"),
        ("  Score one", "bold"),
        ". Paste this into another terminal:\n\n",
        (curl(address, key), "cyan"),
        "\n\n  Ctrl-C stops it. Every score is kept.\n",
    )


def curl(address: str, key: str) -> str:
    """Give a request that a shell can run, with a reply that a person can read."""
    return f"""\
curl -s {address}/v1/score \\
  -H 'Authorization: Bearer {key}' \\
  -H 'Content-Type: application/json' \\
  -d '{APPLICATION}' \\
  | python3 -m json.tool"""
