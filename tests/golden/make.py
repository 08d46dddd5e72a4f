"""Draw up a new corpus: `python -m tests.golden.make`, for a new format of the model alone.

A corpus is never made anew to turn a red test green: an old decision must be replayed for years.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from alama.core.application import read
from alama.core.assess import ExplainedScore, explain_score
from alama.core.model import ReadyModel, encode
from alama.platform.files.packaged import builtin
from alama.training.population.people import PopulationOptions, batches

FOLDER = Path(__file__).parent
NOT_FIELDS = {"applied_on", "default", "true_default_probability"}
CORE: dict[str, object] = {
    "mobile_money_months": 24,
    "monthly_inflow": 18500,
    "stability_score": 0.62,
    "airtime_regularity": 0.71,
}
EDGES: list[dict[str, object]] = [
    CORE,
    {**CORE, "mobile_money_months": 0, "monthly_inflow": 0, "stability_score": 0},
    {**CORE, "mobile_money_months": 600, "monthly_inflow": 1e12, "stability_score": 1},
    {**CORE, "region": " NAIROBI "},
    {**CORE, "region": "a place nobody has heard of"},
    {**CORE, "device_type": "Smartphone", "device_age_months": 0},
    {**CORE, "requested_amount": 0.01, "requested_term_days": 1},
    {**CORE, "requested_amount": 1e12, "requested_term_days": 3650},
    {**CORE, "avg_outflow": 0, "avg_balance": 0, "counterparties": 0, "tx_frequency": 0},
    {**CORE, "existing_repayments": 5000, "applicant_ref": "customer-7"},
]


def reply(said: ExplainedScore) -> dict[str, object]:
    """Write a score down; a double in JSON is read back to the same bits."""
    return {
        "card": said.card,
        "score": said.score,
        "default_probability": said.default_probability,
        "base": said.base,
        "points": said.points,
        "contributions": {c.feature: c.points for c in said.contributions},
    }


def requests() -> list[dict[str, object]]:
    """Give the edges of the catalogue and a few hundred people of the population."""
    population = pa.Table.from_batches(batches(PopulationOptions(rows=240, seed=5)))
    people = [
        {k: v for k, v in row.items() if k not in NOT_FIELDS and v is not None}
        for row in population.to_pylist()
    ]
    return EDGES + people


def main() -> None:
    """Write the model and the corpus."""
    model = builtin()
    (FOLDER / "model.json").write_bytes(encode(model))
    ready = {None: ReadyModel(model), "UGX": ReadyModel(model, "UGX")}
    lines = []
    for number, sent in enumerate(requests()):
        currency = "UGX" if number % 5 == 4 else None
        answer = reply(explain_score(ready[currency], read(model.catalogue, sent)))
        lines.append(json.dumps({"currency": currency, "request": sent, "reply": answer}))
    (FOLDER / "corpus.jsonl").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
