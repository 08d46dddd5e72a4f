"""Names of columns are told alike however many there are, and each is looked at once."""

from __future__ import annotations

import pytest

from alama.platform.files.asis import likeness
from alama.platform.files.asis.likeness import Holds, Target, match

TARGETS = (
    Target("amount", Holds.NUMBER, also=("montant", "transaction amount"), maybe=("value",)),
    Target("days_late", Holds.NUMBER, also=("days past due",), spelling="lateness"),
    Target("details", Holds.WORD, also=("description",)),
)


def test_a_column_is_told_by_its_name_another_word_or_a_slip_of_the_hand() -> None:
    found = match(["Montant", "Days past due", "Descripton"], TARGETS)
    assert found.places == {"amount": 0, "days_late": 1, "details": 2}
    assert set(found.likened) == {"amount", "days_late", "details"}
    assert match(["Value"], TARGETS).unsure == ("amount",)
    assert match(["Lateness", "Months past due"], TARGETS).places == {"days_late": 0}
    assert match(["Details", "Details"], TARGETS).rivals == {"details": (0, 1)}


def test_a_row_of_a_thousand_words_is_not_compared_a_thousand_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    match(["amount"], TARGETS)  # what is known of the targets is worked out
    keyed, key_of = list[str](), likeness.key_of

    def noted(name: str) -> str:
        keyed.append(name)
        return key_of(name)

    monkeypatch.setattr(likeness, "key_of", noted)
    found = match(["amount", *["other"] * 500, *["words"] * 500], TARGETS)
    assert found.places == {"amount": 0}
    assert keyed == ["amount", "other", "words"]
