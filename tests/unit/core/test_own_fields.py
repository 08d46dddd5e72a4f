"""A lender's own fields: what may be declared, what is said of what may not, what a model reads."""

import pytest

from alama.core import memory, own_fields
from alama.core.catalogue import Direction, Use
from alama.core.errors import InvalidFields, InvalidModel
from alama.core.intake import Intake
from alama.core.own_fields import NOTHING, SCHEMA, answering, reading
from alama.core.product import PRODUCT, PROHIBITED
from alama.platform.files.packaged import builtin
from tests.own_fields import TEXT, THREE, a_model_of, declared, the_three, without

CORE = b'"mm_months": 14, "avg_inflow": 9000, "balance_stability": 0.5, "airtime_regularity": 0.5'


def refusal(text: bytes) -> str:
    with pytest.raises(InvalidFields) as caught:
        own_fields.read(text)
    return str(caught.value)


def test_what_is_declared_stands_behind_the_fields_of_the_product() -> None:
    catalogue = answering(PRODUCT, the_three())
    assert catalogue.fields[: len(PRODUCT.fields)] == PRODUCT.fields
    assert tuple(field.name for field in catalogue.fields[len(PRODUCT.fields) :]) == THREE


def test_declared_fields_are_read_flat_beside_the_others() -> None:
    intake = Intake(answering(PRODUCT, the_three()))
    sent = b'{%s, "bureau_score": 640, "branch": "Kisumu"}' % CORE
    assert intake.read(sent).values[-3:] == (640, None, "Kisumu")


def test_the_id_is_that_of_what_is_said_and_not_of_how_it_is_written() -> None:
    again = own_fields.read(b"# ours\n" + TEXT.replace(b"minimum = 200 ", b"minimum = 200.0"))
    assert again.id == the_three().id
    assert own_fields.read(declared(("maximum = 900", "maximum = 850"))).id != the_three().id


@pytest.mark.parametrize(
    "name",
    [
        *PROHIBITED,
        *("customer_gender", "sms_count", "contact_list_size", "is_female"),
        *("tribes", "religions", "ethnicities", "genders", "sexes", "photo", "known_females"),
        *("tribus", "religions_connues", "ethnies", "sexe", "genres", "appels", "nb_femmes"),
        *("kabila_la_mteja", "makabila", "dini", "jinsia", "picha_za_simu"),
        *("wanawake", "wanaume", "is_muslim", "christians", "mkristo", "madhehebu"),
        *("tribe2", "tribename", "religioncode", "gender_1", "sex2", "calllogs"),
    ],
)
def test_what_must_never_be_sent_cannot_be_declared(name: str) -> None:
    assert "must never be sent" in refusal(declared(('"branch"', f'"{name}"')))


@pytest.mark.parametrize(
    "name",
    [
        *sorted(memory.NAMES),
        *PRODUCT.position,
        "product",
        "evidence",
        "due_on",
        "amount",
        "missing",
    ],
)
def test_a_name_that_means_something_already_cannot_be_declared(name: str) -> None:
    assert "has a meaning of its own" in refusal(declared(('"branch"', f'"{name}"')))


@pytest.mark.parametrize(
    "name",
    [
        *("phone_number", "phone_numbers", "national_id", "surname", "first_name"),
        *("prenoms", "numero_de_telephone", "namba_ya_simu", "kitambulisho"),
    ],
)
def test_what_tells_who_somebody_is_cannot_be_declared(name: str) -> None:
    assert "who somebody is" in refusal(declared(('"branch"', f'"{name}"')))


def test_what_looks_protected_says_why_it_is_lawful() -> None:
    for name in ("ages", "enfants", "umri_wa_mteja", "churches", "families"):
        assert f"the law may protect {name}" in refusal(declared(('"branch"', f'"{name}"')))
    text = declared(('"branch"', '"age_years"'))
    assert "fields[3].lawful is missing: the law may protect age_years" in refusal(text)
    why = text.replace(b'source = "the branch', b'lawful = "section 9"\nsource = "the branch')
    assert own_fields.read(why).fields[-1].lawful == "section 9"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ("minimum = 200 ", "minimun = 200"),
            "line 11: fields[1].minimun is no key of it; did you",
        ),
        (('type = "integer" ', 'type = "int"'), "must be one of integer, number, word"),
        (("sw = ", "sv = "), "line 20: fields[1].labels.sv is no key of it"),
        (('direction = "safer"', 'direction = "better"'), "one of safer, riskier, free"),
        (("maximum = 900", "maximum = 200"), "fields[1].maximum must be above the least"),
        (("maximum = 900", ""), "fields[1].maximum is missing"),
        (("maximum = 900", "maximum = inf"), "fields[1].maximum must be"),
        (("minimum = 200 ", "minimum = nan"), "fields[1].minimum must be"),
        (("within_days = 180", "within_days = -1"), "fields[1].change.within_days must be"),
        (('"branch"', '"Branch"'), "must be 1 to 40 small letters"),
        (('"branch"', '"bureau_score"'), "bureau_score is declared twice"),
        (('source = "the branch', 'money = true\nsource = "the branch'), "a word is no money"),
        (('source = "our own ledger: ', 'sauce = "our own ledger: '), "fields[2].sauce is no key"),
        (('version = "1"', ""), "version is missing"),
        (("version =", "versoin ="), "versoin is no key of it; did you mean version"),
        (("[fields.labels]", "[fields.labels"), "line 18: close the brackets"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(change: tuple[str, str], said: str) -> None:
    assert said in refusal(declared(change))


def test_every_fault_is_told_at_once() -> None:
    text = declared(("maximum = 900", "maximum = 100"), ('"branch"', '"gender"'))
    said = refusal(text)
    assert "maximum must be above" in said
    assert "must never be sent" in said


def test_a_text_of_another_schema_is_refused() -> None:
    assert "this version reads" in refusal(TEXT.replace(SCHEMA.encode(), b"alama.fields/9"))


def test_a_stored_text_that_was_changed_is_refused() -> None:
    with pytest.raises(InvalidFields, match="changed or are damaged"):
        own_fields.decode(declared(("maximum = 900", "maximum = 850")), the_three().id)


def test_a_model_that_reads_none_of_them_goes_on_and_rules_may_read_them() -> None:
    model = reading(builtin(), the_three())
    assert model.id == builtin().id
    assert model.catalogue.field("branch").use is Use.MODEL
    assert reading(builtin(), NOTHING) is builtin()


def test_a_model_does_not_answer_without_a_field_that_it_has_learned() -> None:
    model = a_model_of(the_three())
    assert reading(model, the_three()).cards == model.cards
    with pytest.raises(InvalidModel, match="reads bureau_score, which is no field that"):
        reading(model, own_fields.read(without("bureau_score")))
    with pytest.raises(InvalidModel, match="learned bureau_score as another field: type"):
        reading(model, own_fields.read(declared(('type = "integer"   ', 'type = "number"'))))


def test_a_direction_stays_what_the_model_was_proven_by() -> None:
    freed = own_fields.read(declared(('direction = "safer"', 'direction = "free"')))
    found = reading(a_model_of(the_three()), freed).catalogue.field("bureau_score")
    assert found.direction is Direction.SAFER
