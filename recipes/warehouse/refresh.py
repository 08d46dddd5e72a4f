"""Take the model and the policy that answer into the warehouse: write macros/alama.sql.

Needs `alama` on the path, with the settings of the installation. In live mode name the file of the
model: `alama models export` writes it.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from pathlib import Path

MACROS = """\
{{% macro alama_card() %}}
{card}
{{% endmacro %}}

{{% macro alama_model() %}}'{model}'{{% endmacro %}}

{{% macro alama_policy() %}}'{policy}'{{% endmacro %}}

{{% macro alama_tier(score) %}}case {tiers} end{{% endmacro %}}

{{% macro alama_amount() %}}{amount}{{% endmacro %}}

{{% macro alama_term_days() %}}{term_days}{{% endmacro %}}
"""

ID = re.compile(r"^(?:-- model )?(sha256:[0-9a-f]{64})$", re.MULTILINE)


def alama(*arguments: str, given: str = "") -> str:
    return subprocess.run(
        ["alama", *arguments], check=True, text=True, input=given, stdout=subprocess.PIPE
    ).stdout


def id_in(said: str) -> str:
    """The id of the model or of the policy that a command has named."""
    found = ID.search(said)
    return found[1] if found else sys.exit("alama has named no id")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", help="a model file (default: the built-in model)")
    parser.add_argument("--lender", default="demo")
    parser.add_argument("--mode", default="test", choices=("test", "live"))
    asked = parser.parse_args()
    text = alama("policy", "show", "--lender", asked.lender, "--mode", asked.mode)
    policy = tomllib.loads(text)
    model = [asked.model] if asked.model else []
    card = alama("models", "show", *model, "--format", "sql", "--currency", policy["currency"])
    for_model = [f"--model={asked.model}"] if asked.model else []
    checked = alama("policy", "check", "-", *for_model, given=text)
    tiers = sorted(policy["tiers"], key=lambda tier: -tier["score_min"])
    names = "".join(tier["name"] for tier in tiers)
    if "{" in card + names or "'" in names:  # dbt would run what is in braces as a program
        sys.exit("a word of the model has a {, or the name of a tier a { or a '")
    macros = Path(__file__).parent / "macros" / "alama.sql"
    macros.parent.mkdir(exist_ok=True)
    macros.write_text(
        MACROS.format(
            model=id_in(card),
            policy=id_in(checked),
            card=card.rstrip().removesuffix(";"),
            tiers=" ".join(
                f"when {{{{ score }}}} >= {tier['score_min']} then '{tier['name']}'"
                for tier in tiers
            ),
            amount=policy["standard_loan"]["amount"],
            term_days=policy["standard_loan"]["term_days"],
        ),
        "utf-8",
    )


if __name__ == "__main__":
    main()
