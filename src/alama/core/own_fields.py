"""A lender's own fields: what it may send beside the product's, declared in a text of TOML.

The text is kept as it was written, and named by the hash of what it says. A field is declared with
all that the product says of its own: type, range, direction, who reads it, how an applicant can
change it, what they read it called. What a lender must never decide by cannot be declared.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from alama.core import document, memory
from alama.core.application import is_visible
from alama.core.catalogue import Catalogue, Change, Direction, Field, Kind, Labels, Use, Way
from alama.core.document import Document
from alama.core.errors import (
    FAULTS_MAX,
    InvalidFields,
    InvalidModel,
    InvalidPolicy,
    PolicyFault,
    did_you_mean,
)
from alama.core.expressions.tokens import KEYWORDS
from alama.core.lending import policy_text
from alama.core.lending.toml_lines import lines_of
from alama.core.product import PRODUCT, PROHIBITED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alama.core.model import Model

SCHEMA: Final = "alama.fields/1"
SIZE_MAX: Final = 2**18
"""Bytes beyond which a text is refused unread."""

FIELDS_MAX: Final = 40
TEXT_MAX: Final = 200
LABEL_MAX: Final = 80
NUMBER_MAX: Final = 1e15

_IN_HISTORIES: Final = (
    "borrower_id",
    "applied_on",
    "disbursed_on",
    "due_on",
    "observed_on",
    "repaid_on",
    "largest_days_past_due",
    "restructured",
    "amount",
    "term_days",
)
RESERVED: Final = frozenset(
    {
        *PRODUCT.position,
        *memory.NAMES,
        *_IN_HISTORIES,
        *KEYWORDS,
        *{"product", "evidence", "request_id", "application_id", "score", "label", "outcome"},
    }
)
"""Names that mean something in a request, a history, a rule or a table already."""

_PROHIBITED: Final = frozenset(
    {
        *PROHIBITED,
        *{"ethnic", "religious", "tribal", "male", "female", "woman", "women"},
        *{"muslim", "christian", "hindu", "islam", "islamic", "christianity"},
        *{
            "religieux",
            "religieuse",
            "ethnie",
            "ethnique",
            "tribu",
            "genre",
            "sexe",
            "homme",
            "femme",
            "musulman",
            "musulmane",
            "chretien",
            "chretienne",
        },
        *{"repertoire_telephonique", "appel", "journal_appels", "galerie"},
        *{"dini", "kabila", "makabila", "ukabila", "jinsia", "jinsi", "mwanamke", "mwanaume"},
        *{"wanawake", "wanaume", "dhehebu", "madhehebu", "uislamu", "ukristo"},
        *{"mwislamu", "muislamu", "waislamu", "mkristo", "wakristo", "mhindu", "wahindu"},
        *{"anwani_za_simu", "ujumbe", "jumbe", "picha"},
    }
)
"""In the languages in which applicants are spoken to; a plural is as good as its singular."""

_PROHIBITED_WITHIN: Final = re.compile(
    "religio|ethnic|gender|tribe|jinsia|kabila|call_?log|phone_?book|contact_?list"
)
"""What no other word of these languages holds: tribename says what tribe_name says."""

_NAMES_SOMEBODY: Final = frozenset(
    {
        *{"phone", "phone_number", "mobile_number", "msisdn", "email", "national_id", "id_number"},
        *{"passport", "surname", "first_name", "last_name", "full_name", "bvn", "nin"},
        *{"numero_de_telephone", "courriel", "piece_identite", "carte_identite", "passeport"},
        *{"prenom", "nom_de_famille", "nom_complet", "jina_kamili", "jina_la_ukoo", "pasipoti"},
        *{"namba_ya_simu", "nambari_ya_simu", "barua_pepe", "kitambulisho", "namba_ya_nida"},
    }
)
_LOOKS_PROTECTED: Final = frozenset(
    {
        *{"age", "birth", "birthday", "birthdate", "dob", "born"},
        *{"marital", "married", "spouse", "wife", "husband", "child", "children", "family"},
        *{"pregnant", "pregnancy", "maternity", "disability", "disabled", "health", "medical"},
        *{"hiv", "illness", "genetic", "orientation"},
        *{"nationality", "national", "citizen", "citizenship", "immigrant", "refugee"},
        *{"language", "dialect", "caste", "race", "racial", "colour", "color", "clan"},
        *{"faith", "church", "mosque", "political", "party", "union"},
        *{"naissance", "marie", "mariee", "matrimonial", "matrimoniale", "epoux", "epouse"},
        *{"enfant", "famille", "grossesse", "enceinte", "handicap", "sante", "maladie"},
        *{"nationalite", "citoyennete", "refugie", "langue", "couleur", "foi", "eglise"},
        *{"mosquee", "politique", "syndicat", "origine"},
        *{"umri", "kuzaliwa", "ndoa", "mke", "mume", "mtoto", "watoto", "familia", "mimba"},
        *{"ujauzito", "ulemavu", "afya", "ugonjwa", "uraia", "taifa", "mkimbizi", "lugha"},
        *{"rangi", "ukoo", "imani", "kanisa", "msikiti", "siasa", "chama"},
    }
)
"""Parts of names that the law of many places protects: whoever uses such a field says why."""

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_NAME_MAX: Final = 40
_MORE: Final = "mend these first; behind a key that is missing or of the wrong kind may be more"
_START: Final = "start from a catalogue that was drafted"

_DIRECTIONS: Final = {
    "safer": Direction.SAFER,
    "riskier": Direction.RISKIER,
    "free": Direction.FREE,
}
_USES: Final = {"model": Use.MODEL, "rules": Use.POLICY}


class OwnFields(Document, frozen=True, forbid_unknown_fields=True):
    """The fields that a lender has declared, in order; `name` and `version` are for people."""

    name: str
    version: str
    fields: tuple[Field, ...]


NOTHING: Final = OwnFields(SCHEMA, "", "", "", ())
"""What a lender declares that has no fields of its own."""


class _Declared(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One field as it is written."""

    name: str
    type: Kind
    source: str
    labels: Labels
    meaning: str = ""
    unit: str = ""
    minimum: float | None = None
    above: float | None = None
    maximum: float | None = None
    money: bool = False
    direction: Literal["safer", "riskier", "free"] = "free"
    use: Literal["model", "rules"] = "model"
    change: Change | None = None
    lawful: str = ""

    @property
    def field(self) -> Field:
        return Field(
            name=self.name,
            kind=self.type,
            meaning=self.meaning or self.labels.en,
            unit=self.unit,
            minimum=self.minimum,
            above=self.above,
            maximum=self.maximum,
            money=self.money,
            direction=_DIRECTIONS[self.direction],
            use=_USES[self.use],
            change=self.change,
            source=self.source,
            labels=self.labels,
            lawful=self.lawful,
        )


class _Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands above the fields."""

    schema: str
    name: str
    version: str
    fields: list[Any] = []


Fault = tuple[tuple[str | int, ...], str]
"""Where in the text something is wrong, and what."""


def read(written: bytes) -> OwnFields:
    """Read what a lender declares, or raise `InvalidFields` with every fault and its line."""
    text, tree = _parsed(written)
    declared, faults = _shaped(tree)
    certain = not faults
    if certain:
        faults = [*_head_faults(tree), *_faults(declared)]
    if faults:
        raise _refusal(text, faults, hint=None if certain else _MORE)
    return _sealed(tree, declared)


def decode(written: bytes, fields_id: str) -> OwnFields:
    """Read a stored catalogue, or raise `InvalidFields` if it is not the one of that id.

    It was sound in its day: a later version of Alama that asks for more must not close the book.
    """
    try:
        _, tree = _parsed(written)
        declared, faults = _shaped(tree)
        found = None if faults else _sealed(tree, declared)
    except InvalidFields:
        found = None
    if found is None or found.id != fields_id:
        raise InvalidFields(
            f"the stored fields {fields_id} were changed or are damaged",
            hint="activate them again from their file, or restore them from a backup",
        )
    return found


def _parsed(written: bytes) -> tuple[str, dict[str, Any]]:
    if len(written) > SIZE_MAX:
        raise InvalidFields(f"the text is larger than {SIZE_MAX // 1024} KiB")
    try:
        text, tree = policy_text.tree_of(written)
    except InvalidPolicy as error:
        raise InvalidFields.of(error.faults, hint=_START) from None
    if tree.get("schema") != SCHEMA:
        said = "no schema" if "schema" not in tree else "another schema"
        raise InvalidFields(
            f"the text says {said}; this version reads {SCHEMA!r}",
            hint=f'its first line should be: schema = "{SCHEMA}"',
        )
    return text, tree


def _sealed(tree: Mapping[str, Any], declared: Sequence[_Declared]) -> OwnFields:
    fields = tuple(one.field for one in declared)
    return document.seal(OwnFields(SCHEMA, "", tree["name"], tree["version"], fields))


def _refusal(text: str, faults: Sequence[Fault], hint: str | None) -> InvalidFields:
    shown = faults[:FAULTS_MAX]
    found = lines_of(text, [path for path, _ in shown])
    return InvalidFields.of(
        (
            PolicyFault(line, _spelled(path), fault)
            for line, (path, fault) in zip(found, shown, strict=True)
        ),
        hint=hint,
    )


def _spelled(path: Sequence[str | int]) -> str:
    spelled = ""
    for step in path:
        spelled += f"[{step + 1}]" if isinstance(step, int) else f".{step[:_NAME_MAX]}"
    return spelled.removeprefix(".")


# -------------------------------------------------------------------------------------- its shape


def _shaped(tree: Mapping[str, Any]) -> tuple[list[_Declared], list[Fault]]:
    """Convert field after field: of each the first thing that has no such form is told."""
    declared: list[_Declared] = []
    faults: list[Fault] = []
    try:
        head = msgspec.convert(tree, _Head)
    except msgspec.ValidationError as error:
        return [], [_misshapen((), error, _Head)]
    for place, one in enumerate(head.fields):
        try:
            declared.append(msgspec.convert(one, _Declared))
        except msgspec.ValidationError as error:
            faults.append(_misshapen(("fields", place), error, _Declared))
    return declared, faults


_AT: Final = re.compile(r"(?P<said>.*?)(?: - at `\$(?P<path>[^`]*)`)?", re.DOTALL)
_STRANGE: Final = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_ABSENT: Final = re.compile(r"Object missing required field `(.*)`")
_CHOICES: Final = {
    "type": tuple(Kind),
    "direction": tuple(_DIRECTIONS),
    "use": tuple(_USES),
    "way": tuple(Way),
}
_INNER: Final[Mapping[str, type[msgspec.Struct]]] = {"labels": Labels, "change": Change}


def _misshapen(
    path: tuple[str | int, ...], error: msgspec.ValidationError, kind: type[msgspec.Struct]
) -> Fault:
    found = _AT.fullmatch(str(error))
    assert found is not None
    said, inner = found["said"], tuple(filter(None, (found["path"] or "").split(".")))
    if (strange := _STRANGE.fullmatch(said)) is not None:
        asked = _INNER.get(inner[-1], kind) if inner else kind
        name = strange[1]
        near = did_you_mean(name, asked.__struct_fields__)
        if not is_visible(name):
            name = "a key"
        return (*path, *inner, name), f"is no key of it; {near or 'take it out'}".rstrip("? ")
    if (absent := _ABSENT.fullmatch(said)) is not None:
        return (*path, *inner, absent[1]), "is missing"
    allowed = _CHOICES.get(inner[-1]) if inner and said.startswith("Invalid enum") else None
    if allowed is not None:
        return (*path, *inner), f"must be one of {', '.join(allowed)}"
    return (*path, *inner), said[:1].lower() + said[1:]


# ------------------------------------------------------------------------------------- its faults


def _head_faults(tree: Mapping[str, Any]) -> Iterator[Fault]:
    for name in ("name", "version"):
        if not _is_line(tree[name], TEXT_MAX):
            yield (name,), f"must be a text of 1 to {TEXT_MAX} characters on one line"


def _faults(declared: Sequence[_Declared]) -> Iterator[Fault]:
    if len(declared) > FIELDS_MAX:
        yield ("fields",), f"are {len(declared)}; a lender declares {FIELDS_MAX} at most"
    seen: set[str] = set()
    for place, one in enumerate(declared):
        path = ("fields", place)
        if one.name in seen:
            yield (*path, "name"), f"{one.name} is declared twice"
        seen.add(one.name)
        for key, fault in (*_name_faults(one), *_range_faults(one), *_word_faults(one)):
            yield (*path, *key.split(".")), fault


def _name_faults(one: _Declared) -> Iterator[tuple[str, str]]:
    if len(one.name) > _NAME_MAX or not _NAME.fullmatch(one.name):
        yield "name", f"must be 1 to {_NAME_MAX} small letters, digits and _, such as bureau_score"
        return
    if one.name in RESERVED:
        yield "name", f"{one.name} has a meaning of its own here; take another"
        return
    parts = _parts(one.name)
    if parts & _PROHIBITED or _PROHIBITED_WITHIN.search(one.name):
        yield "name", "must never be sent for a credit decision, and cannot be declared"
    elif parts & _NAMES_SOMEBODY:
        yield "name", "would tell who somebody is, and cannot be declared; see applicant_ref"
    elif parts & _LOOKS_PROTECTED and not one.lawful:
        yield "lawful", f"is missing: the law may protect {one.name}; say why it may be used"


def _parts(name: str) -> set[str]:
    """Give every run of the words of a name, also as a plural, and as what it is the plural of."""
    words = [word.rstrip("0123456789") for word in name.split("_")]
    runs = {
        "_".join(words[start:end])
        for start in range(len(words))
        for end in range(start + 1, len(words) + 1)
    }
    singular = {run.removesuffix(end) + rest for run in runs for end, rest in _PLURALS}
    return runs | {f"{run}s" for run in runs} | singular


_PLURALS: Final = (("s", ""), ("es", ""), ("ies", "y"))


def _range_faults(one: _Declared) -> Iterator[tuple[str, str]]:
    bounds = {"minimum": one.minimum, "above": one.above, "maximum": one.maximum}
    if one.type is Kind.WORD:
        yield from _unfit_for_words(one, bounds)
        return
    low = one.minimum if one.above is None else one.above
    if low is None:
        yield "minimum", "is missing: say the least that is possible (or `above`, if never equal)"
    elif one.minimum is not None and one.above is not None:
        yield "above", "and minimum exclude each other"
    if one.maximum is None:
        yield "maximum", "is missing: say the most that is possible"
    elif low is not None and not low < one.maximum:
        yield "maximum", "must be above the least"
    for key, bound in bounds.items():
        if bound is not None and not -NUMBER_MAX <= bound <= NUMBER_MAX:
            yield key, f"must be -{NUMBER_MAX:g} to {NUMBER_MAX:g}"
    if one.change is not None:
        yield from _change_faults(one.change)


def _unfit_for_words(
    one: _Declared, bounds: Mapping[str, float | None]
) -> Iterator[tuple[str, str]]:
    for key, bound in bounds.items():
        if bound is not None:
            yield key, "is for numbers; a word has no range"
    if one.money:
        yield "money", "is for numbers; a word is no money"
    if one.direction != "free":
        yield "direction", "must be free: words have no order"
    if one.change is not None:
        yield "change", "is for numbers; nobody is told to change a word"


def _change_faults(change: Change) -> Iterator[tuple[str, str]]:
    if not 0 <= change.within_days <= 3650:  # noqa: PLR2004  ten years
        yield "change.within_days", "must be 0 to 3650"
    if not 0.0 < change.effort <= 100.0:  # noqa: PLR2004  of an ordinary one
        yield "change.effort", "must be above 0 and at most 100"
    if change.times_at_most is not None and not 1.0 < change.times_at_most <= 1000.0:  # noqa: PLR2004
        yield "change.times_at_most", "must be above 1 and at most 1000"
    for key in ("by_at_most", "days_each"):
        bound = getattr(change, key)
        if bound is not None and not 0.0 < bound <= NUMBER_MAX:
            yield f"change.{key}", f"must be above 0 and at most {NUMBER_MAX:g}"


def _word_faults(one: _Declared) -> Iterator[tuple[str, str]]:
    if not _is_line(one.source, TEXT_MAX):
        yield "source", f"must say in 1 to {TEXT_MAX} characters where its values come from"
    for key in ("meaning", "unit", "lawful"):
        said = getattr(one, key)
        if said and not _is_line(said, TEXT_MAX):
            yield key, f"must be at most {TEXT_MAX} characters on one line"
    for language, said in msgspec.structs.asdict(one.labels).items():
        if not _is_line(said, LABEL_MAX):
            yield f"labels.{language}", f"must be 1 to {LABEL_MAX} characters on one line"


def _is_line(text: str, most: int) -> bool:
    return is_visible(text) and "\n" not in text and 1 <= len(text.strip()) <= most


# ---------------------------------------------------------------------------- beside the product's


def reading(model: Model, own: OwnFields) -> Model:
    """Give the same model, to read what a lender may send; its id stays that of its tables.

    `InvalidModel` where it reads what the lender does not declare.
    """
    _require_declared(model, own)
    catalogue = answering(model.catalogue, own)
    if catalogue == model.catalogue:
        return model
    return msgspec.structs.replace(model, catalogue=catalogue)


def answering(catalogue: Catalogue, own: OwnFields) -> Catalogue:
    """Give all that may be sent: the product's fields of a catalogue, then the lender's own.

    Behind them stands what a model has learned of the memory, which nobody sends. A direction that
    a model was proven by stays what it was then.
    """
    known = {field.name: field for field in catalogue.fields}
    return msgspec.structs.replace(
        catalogue,
        fields=(
            *(field for field in catalogue.fields if field.name in PRODUCT.position),
            *(_as_proven(field, known.get(field.name)) for field in own.fields),
            *(field for field in catalogue.fields if field.use is Use.MEMORY),
        ),
    )


def _as_proven(field: Field, learned: Field | None) -> Field:
    if learned is None or learned.use is not Use.MODEL:
        return field
    return msgspec.structs.replace(field, direction=learned.direction)


def _require_declared(model: Model, own: OwnFields) -> None:
    """Raise `InvalidModel` where a model reads fields that nobody may send, or means others."""
    declared = {field.name: field for field in own.fields}
    for name in (feature.field for feature in model.cards[-1].features):
        if name in PRODUCT.position or name in memory.NAMES:
            continue
        field, learned = declared.get(name), model.catalogue.field(name)
        if field is None:
            raise InvalidModel(
                f"the model reads {name}, which is no field that the lender has declared",
                hint="declare it again, or train a model without it",
            )
        faults = [
            noun
            for noun, now, then in (
                ("type", field.kind, learned.kind),
                ("unit", field.unit, learned.unit),
                ("money", field.money, learned.money),
                ("use", field.use, learned.use),
            )
            if now != then
        ]
        if faults:
            raise InvalidModel(
                f"the model learned {name} as another field: {', '.join(faults)} differ from what "
                "the lender declares",
                hint="give the changed field another name, and train a model on it",
            )
