from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import msgspec
import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.core import receipts
from alama.core.lending.draft import default_policy, default_text
from alama.core.receipts import Check, Receipt
from alama.platform.files.packaged import builtin
from tests.factories import a_model, write_model
from tests.receipts import SigningKey, a_receipt
from tests.stored import give_score

KEY = SigningKey().public.hex()
OTHER_KEY = SigningKey(9).public.hex()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def saved(folder: Path, receipt: Receipt) -> str:
    path = folder / "receipt.json"
    path.write_bytes(receipts.encode(receipt))
    return str(path)


def with_application(receipt: Receipt, **fields: object) -> Receipt:
    sent = json.loads(receipt.application) | fields
    return msgspec.structs.replace(receipt, application=json.dumps(sent))


def rows(table: str) -> list[list[str]]:
    """The cells of the lines below each rule of a table."""
    lines = table.splitlines()
    return [re.split("  +", line.strip()) for line in lines if re.match(r"\S+.*?  +\S", line)]


# -------------------------------------------------------------------------------- verify


def test_a_receipt_that_holds_is_told_with_whom_and_what_it_is_about(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    receipt = a_receipt()
    path = saved(home, receipt)
    assert main(["receipt", "verify", path]) == 0
    out, err = capsys.readouterr()
    said, _, _ = out.partition("\n\n")
    assert " ".join(said.split()) == (
        f"{path} holds: nothing in it was changed since it was signed, and its model and policy "
        "give the same answer again, to the last digit."
    )
    assert re.search(r"\nscore +633, tier C, REVIEW *\n", out)
    assert re.search(rf"\nrequest +{receipt.score.request_id} *\n", out)
    assert re.search(r"\ngiven +2026-11-15 12:00:00 UTC to demo, test mode *\n", out)
    assert re.search(rf"\nmodel +{builtin().id} *\n", out)
    assert re.search(rf"\npolicy +{default_policy('KES').id} *\n", out)
    assert re.search(r"\nlog +entry 1 of writer *\n", out)
    assert re.search(rf"\nkey +{KEY} *\n", out)
    assert err.startswith("\nwarning: nobody has said whose key this is")


@pytest.mark.parametrize("named", [[KEY], [OTHER_KEY, f" {KEY.upper()}"]], ids=["one", "two"])
def test_a_key_that_was_named_leaves_no_doubt(
    home: Path, named: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    options = [option for key in named for option in ("--key", key)]
    assert main(["receipt", "verify", saved(home, a_receipt()), *options]) == 0
    out, err = capsys.readouterr()
    assert "it was signed by a key that you have named" in " ".join(out.split())
    assert err == ""


def test_a_receipt_by_another_key_than_the_one_named_does_not_hold(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(home, a_receipt(signer=SigningKey(9)))
    assert main(["receipt", "verify", path, "--key", KEY]) == 1
    out, _ = capsys.readouterr()
    assert out.startswith(f"{path} does not hold:\n")
    assert rows(out)[1:] == [["key", "the key that signed it is none of those that you named"]]


@pytest.mark.parametrize("key", ["", "4f1d", "g" * 64, KEY + "00"])
def test_a_key_has_64_digits(home: Path, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["receipt", "verify", saved(home, a_receipt()), "--key", key])
    assert refused.value.code == EXIT_MISTAKE
    assert "must be 64 hexadecimal digits" in capsys.readouterr().err


def test_a_changed_decision_is_named_with_what_it_was(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    receipt = a_receipt()
    score = msgspec.structs.replace(receipt.score, decision="DECLINED")
    path = saved(home, msgspec.structs.replace(receipt, score=score))
    assert main(["receipt", "verify", path]) == 1
    out, _ = capsys.readouterr()
    assert "Its model and policy give another answer:" in out
    assert rows(out) == [
        ["what", "why"],
        ["record", "score, application or assessment are not those that were logged"],
        ["part", "receipt", "replayed"],
        ["column decision", "DECLINED", "REVIEW"],
    ]


def test_a_changed_application_is_named_by_all_that_it_would_have_changed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = with_application(a_receipt(), mobile_money_months=0)
    assert main(["receipt", "verify", saved(home, changed)]) == 1
    found = rows(capsys.readouterr().out)
    assert found[1][0] == "record"
    assert ["value of mobile_money_months", "24", "0"] in found


def test_what_cannot_be_replayed_any_more_does_not_hide_that_it_was_changed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = with_application(a_receipt(), mobile_money_months="many")
    assert main(["receipt", "verify", saved(home, changed)]) == 1
    out, err = capsys.readouterr()
    assert rows(out)[1][0] == "record"
    assert "It could not be replayed: the application is not valid: mobile_money_months" in err


def test_what_was_signed_and_is_not_given_again_is_found_out(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(home, a_receipt(decision="DECLINED"))
    assert main(["receipt", "verify", path]) == 1
    out, _ = capsys.readouterr()
    assert "Nothing in it was changed since it was signed, but" in out
    assert rows(out) == [
        ["part", "receipt", "replayed"],
        ["column decision", "DECLINED", "REVIEW"],
    ]


def test_another_model_or_policy_than_the_one_named_is_told_with_where_to_get_it(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(home, a_receipt())
    model, policy = home / "model.json", home / "policy.toml"
    write_model(a_model(), model)
    policy.write_bytes(default_text("UGX"))
    assert main(["receipt", "verify", path, "--model", str(model)]) == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert out == ""
    assert "the receipt names another model than the one at hand\n" in err
    assert f"alama models export {builtin().id} --out FILE" in err
    assert main(["receipt", "verify", path, "--policy", str(policy)]) == EXIT_MISTAKE
    _, err = capsys.readouterr()
    assert "the receipt names another policy than the one at hand\n" in err
    assert f"alama policy export {default_policy('KES').id} --out FILE" in err


def test_a_file_that_is_no_policy_is_told_by_its_name(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = home / "policy.toml"
    policy.write_text("tiers = ")
    path = saved(home, a_receipt())
    assert main(["receipt", "verify", path, "--policy", str(policy)]) == EXIT_MISTAKE
    assert f"error: {policy}:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{}", "this is not a receipt"),
        ('{"schema": "\u00e9"}'.encode("latin-1"), "it is no text in UTF-8"),
        (b" " * (receipts.SIZE_MAX + 1), "is larger than 256 KiB"),
        (receipts.encode(a_receipt()) + b" ", "the receipt is not written as it was given"),
        (None, "cannot read"),
    ],
    ids=["no receipt", "no UTF-8", "too large", "not as given", "none"],
)
def test_a_file_that_is_no_receipt_is_told(
    home: Path, content: bytes | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / "receipt.json"
    if content is not None:
        path.write_bytes(content)
    assert main(["receipt", "verify", str(path)]) == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert out == ""
    assert str(path) in err
    assert message in err


def test_a_receipt_can_come_through_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    piped = io.TextIOWrapper(io.BytesIO(receipts.encode(a_receipt())))
    monkeypatch.setattr(sys, "stdin", piped)
    assert main(["receipt", "verify", "-"]) == 0
    assert capsys.readouterr().out.startswith("standard input holds:")


def test_every_step_that_can_fail_has_its_words() -> None:
    from alama.protection.receipt_cli import _WHY  # noqa: PLC0415  only this test looks inside

    assert list(_WHY) == [check.value for check in Check]


# ---------------------------------------------------------------------------- make and key


def test_a_receipt_is_made_of_a_stored_score_and_verified_with_exported_files(
    home: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    request_id = give_score()
    assert main(["receipt", "make", request_id]) == 0
    document, _ = capsysbinary.readouterr()
    receipt = receipts.decode(document)
    assert receipt.score.request_id == request_id
    path, model, policy = home / "r.json", home / "m.json", home / "p.toml"
    score = receipt.score
    assert main(["receipt", "make", request_id, "--out", str(path)]) == 0
    assert main(["models", "export", score.model_id, "--out", str(model)]) == 0
    assert main(["policy", "export", score.policy_id, "--out", str(policy)]) == 0
    assert path.read_bytes() == document
    capsysbinary.readouterr()
    files = ["--model", str(model), "--policy", str(policy)]
    assert main(["receipt", "verify", str(path), *files, "--key", receipt.proof.public_key]) == 0
    assert capsysbinary.readouterr().err == b""


@pytest.mark.usefixtures("installed_at_home")
def test_what_is_not_there_cannot_be_made_or_exported(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(home / "file")]
    assert main(["receipt", "make", "req_" + "0" * 28]) == EXIT_MISTAKE
    assert "no lender has a score" in capsys.readouterr().err
    for noun in ("models", "policy"):
        assert main([noun, "export", "sha256:" + "0" * 64, *out]) == EXIT_MISTAKE
        assert "the database does not hold sha256:00" in capsys.readouterr().err
    assert not (home / "file").exists()


@pytest.mark.usefixtures("installed_at_home")
def test_the_public_keys_are_those_that_receipts_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["receipt", "key"]) == 0
    out, err = capsys.readouterr()
    assert main(["receipt", "make", give_score()]) == 0
    receipt = receipts.decode(capsys.readouterr().out.encode())
    assert out == f"{receipt.proof.public_key}\n"
    assert re.fullmatch(r"  vk_[0-9a-f]+, since [-\d]{10} [:\d]{5}, and signs now\n", err)


@pytest.mark.usefixtures("installed_at_home")
def test_after_a_rotation_the_current_key_is_still_one_line_and_old_receipts_hold(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / "old.json"
    assert main(["receipt", "make", give_score(), "--out", str(path)]) == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert main(["vault", "rotate", "signing"]) == 0
    capsys.readouterr()
    assert main(["receipt", "key"]) == 0
    old, new = capsys.readouterr().out.split()
    assert main(["receipt", "key", "--current"]) == 0
    assert capsys.readouterr().out == f"{new}\n"
    assert main(["receipt", "verify", str(path), "--key", new]) == 1
    assert main(["receipt", "verify", str(path), "--key", new, "--key", old]) == 0
