"""Settings: everything an operator can set, read once from the environment.

A setting is a field of `Settings`, with its meaning beside it; `alama settings` lists them, and
docs/settings.md is made of the same words. A variable that starts with `ALAMA_` and is not one of
them is refused: a misspelled setting that is silently ignored is found out in production.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, get_type_hints
from urllib.parse import quote

import msgspec
from msgspec import Meta

from alama.core.errors import AlamaError
from alama.platform import addresses
from alama.platform.addresses import DEVELOPMENT, Reach
from alama.platform.errors import StoreUnfit
from alama.platform.files import secret_file

if TYPE_CHECKING:
    from collections.abc import Mapping


PREFIX: Final = "ALAMA_"

_HIDDEN: Final = "***"


class InvalidSetting(AlamaError):
    """A setting is unknown or cannot be what it is set to."""


class Settings(msgspec.Struct, frozen=True):
    """What an operator can set, each with its default."""

    home: Annotated[
        str,
        Meta(
            description="Folder for everything Alama keeps itself: the embedded database, the "
            "pepper and the master key. Made if it is not there.",
            examples=["/var/lib/alama"],
        ),
    ] = "alama-data"
    database: Annotated[
        str | None,
        Meta(
            description="Where scores are kept: `sqlite:////path/to/file.db` or "
            "`postgresql://user:password@host/name`. By default the file alama.db below "
            "ALAMA_HOME.",
            examples=["postgresql://alama:secret@db.internal/alama"],
            extra={"secret": True, "default": "ALAMA_HOME/alama.db"},
        ),
    ] = None
    database_file: Annotated[
        str | None,
        Meta(
            description="File with the address of the database, closed to everyone else, in the "
            "place of ALAMA_DATABASE.",
            examples=["/run/secrets/alama-database"],
            extra={"default": "none"},
        ),
    ] = None
    pepper: Annotated[
        str | None,
        Meta(
            description="Secret that API keys are hashed with, 32 characters or more; every "
            "process of one installation needs the same. By default the file pepper below "
            "ALAMA_HOME, made at the first start.",
            extra={"secret": True, "default": "ALAMA_HOME/pepper"},
        ),
    ] = None
    pepper_file: Annotated[
        str | None,
        Meta(
            description="File with the pepper, closed to everyone else, in the place of "
            "ALAMA_PEPPER.",
            examples=["/run/secrets/alama-pepper"],
            extra={"default": "ALAMA_HOME/pepper"},
        ),
    ] = None
    master_key: Annotated[
        str | None,
        Meta(
            description="Key of keys, 64 hexadecimal digits: without it nothing that applicants "
            "sent can be read again. Every process of one installation needs the same; keep a copy "
            "apart from the database. By default the file that ALAMA_MASTER_KEY_FILE names.",
            extra={"secret": True, "default": "ALAMA_MASTER_KEY_FILE"},
        ),
    ] = None
    master_key_file: Annotated[
        str | None,
        Meta(
            description="File with the key of keys, closed to everyone else. By default the file "
            "master-key below ALAMA_HOME, made at the first start.",
            examples=["/run/secrets/alama-master-key"],
            extra={"default": "ALAMA_HOME/master-key"},
        ),
    ] = None
    master_key_old: Annotated[
        str | None,
        Meta(
            description="The key of keys before this one, while `alama vault rotate master` hands "
            "over from it.",
            extra={"secret": True, "default": "none"},
        ),
    ] = None
    master_key_old_file: Annotated[
        str | None,
        Meta(
            description="File with the key of keys before this one.",
            examples=["/run/secrets/alama-master-key-old"],
            extra={"default": "none"},
        ),
    ] = None
    host: Annotated[str, Meta(description="Address to listen on.", examples=["10.0.0.5"])] = (
        "127.0.0.1"
    )
    port: Annotated[int, Meta(ge=0, le=65_535, description="Port to listen on.")] = 8000
    workers: Annotated[
        int, Meta(ge=1, le=256, description="Processes that serve, about one for each core.")
    ] = 1
    delivery: Annotated[
        str,
        Meta(
            pattern="^(inside|alone)$",
            description="Who sends webhooks, and reads and trains what lenders hand in over HTTP: "
            "`inside`, a process that `alama serve` starts beside its own; or `alone`, "
            "`alama worker`, on this machine or on others.",
        ),
    ] = "inside"
    rate_limit: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Requests a second that one key may send, over time, to all processes on "
            "all hosts together; twice as many at once.",
        ),
    ] = 1_000
    stop_timeout: Annotated[
        int,
        Meta(
            ge=1,
            le=600,
            description="Seconds that a stop may take; accepted requests are answered first.",
        ),
    ] = 10
    log: Annotated[
        str,
        Meta(
            pattern="^(auto|json|text)$",
            description="`json` lines, `text` for people, or `auto`: text on a terminal.",
        ),
    ] = "auto"
    metrics_port: Annotated[
        int,
        Meta(ge=0, le=65_535, description="Port of Prometheus metrics, at /metrics; 0 for none."),
    ] = 0
    webhook_allow: Annotated[
        str | None,
        Meta(
            description="Networks that webhooks may be sent to although they are not public, "
            "separated by commas: `10.1.0.0/16,fd12:3456::/48`. Every lender may send there.",
            examples=["10.1.0.0/16,fd12:3456::/48"],
            extra={"default": "none"},
        ),
    ] = None
    development: Annotated[
        str,
        Meta(
            pattern="^(yes|no)$",
            description="`yes` on the machine of a developer: webhooks may be sent over http, and "
            "to this machine.",
        ),
    ] = "no"

    def __repr__(self) -> str:
        """Show the settings as a person may see them."""
        shown = (f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"Settings({', '.join(shown)})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Give each setting; of a secret no more than that it is set."""
        values = [(setting, getattr(self, setting.field)) for setting in described()]
        return [
            (setting.field, _HIDDEN if setting.secret and value is not None else value)
            for setting, value in values
        ]

    @property
    def home_folder(self) -> Path:
        """The folder of everything Alama keeps itself."""
        return Path(self.home)

    @property
    def pepper_path(self) -> Path:
        """The file of the pepper, the default one included, where it is not set itself."""
        return Path(self.pepper_file or self.home_folder / "pepper")

    @property
    def master_key_path(self) -> Path:
        """The file of the master key, the default one included, where it is not set itself."""
        return Path(self.master_key_file or self.home_folder / "master-key")

    @property
    def webhook_reach(self) -> Reach:
        """Where webhooks may be sent; `ValueError` if a network is none."""
        allowed = addresses.networks(self.webhook_allow) if self.webhook_allow else ()
        if self.development == "no":
            return Reach(allowed)
        return DEVELOPMENT._replace(allowed=(*DEVELOPMENT.allowed, *allowed))

    @property
    def names_database(self) -> bool:
        """Whether an operator has said where the database is, by its address or by a file."""
        return self.database is not None or self.database_file is not None

    @property
    def database_variable(self) -> str:
        """The variable that says where the database is."""
        if self.database_file is not None:
            return "ALAMA_DATABASE_FILE"
        return "ALAMA_DATABASE" if self.database is not None else "ALAMA_HOME"

    @property
    def how_to_name_another_database(self) -> str:
        """What to do where the database is elsewhere."""
        if self.database_file is not None:
            return "write its address into the file that ALAMA_DATABASE_FILE names"
        return f"set {self.database_variable} to its place"

    @property
    def database_address(self) -> str:
        """The address of the database, the default one included; a file of it is read each time.

        `InvalidSetting` or `StoreUnfit` where that file cannot be read, or everyone can read it.
        """
        if self.database_file is not None:
            return _address_in(Path(self.database_file))
        file = (self.home_folder / "alama.db").absolute()
        return self.database or f"sqlite:///{quote(str(file))}"


class Described(NamedTuple):
    """One setting as a person reads of it. A secret is never to be shown."""

    field: str
    variable: str
    default: str
    meaning: str
    secret: bool


def described() -> tuple[Described, ...]:
    """Give every setting in words: for `alama settings` and docs/settings.md."""
    hints = get_type_hints(Settings, include_extras=True)
    return tuple(
        _described(field, default, hints[field].__metadata__[0])
        for field, default in zip(
            Settings.__struct_fields__, Settings.__struct_defaults__, strict=True
        )
    )


def _described(field: str, default: object, meta: Meta) -> Described:
    extra = meta.extra or {}
    bounds = "" if meta.ge is None else f" From {meta.ge} to {meta.le}."
    return Described(
        field,
        PREFIX + field.upper(),
        extra.get("default", str(default)),
        f"{meta.description}{bounds}",
        extra.get("secret", False),
    )


def read(environment: Mapping[str, str]) -> Settings:
    """Read the settings, or raise `InvalidSetting` with what to mend; no secret is repeated."""
    names = {field.upper(): field for field in Settings.__struct_fields__}
    chosen: dict[str, str] = {}
    for variable, value in environment.items():
        if not variable.startswith(PREFIX) or not value:
            continue
        name = variable.removeprefix(PREFIX)
        if name not in names:
            # Without the prefix, which makes any two variables look alike.
            near = difflib.get_close_matches(name, list(names), n=1)
            hint = f"did you mean {PREFIX}{near[0]}?" if near else "`alama settings` lists them"
            raise InvalidSetting(f"there is no setting {variable}", hint=hint)
        chosen[names[name]] = value
    try:
        settings = msgspec.convert(chosen, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise _invalid(str(error).rpartition("`$.")[2].rstrip("`")) from None
    _require_one_of_each(settings)
    try:
        _ = settings.webhook_reach
    except addresses.PartOfNetwork as error:
        raise InvalidSetting("ALAMA_WEBHOOK_ALLOW is not valid", hint=str(error)) from None
    except ValueError:
        raise _invalid("webhook_allow") from None
    return settings


def _require_one_of_each(settings: Settings) -> None:
    """Refuse a secret that is given twice: two that differ would both look as if in force."""
    for field in Settings.__struct_fields__:
        file = f"{field}_file"
        if file not in Settings.__struct_fields__ or None in {
            getattr(settings, field),
            getattr(settings, file),
        }:
            continue
        value, place = PREFIX + field.upper(), PREFIX + file.upper()
        raise InvalidSetting(
            f"{value} and {place} are both set", hint=f"leave one of them out: {value}, as a rule"
        )


def _address_in(path: Path) -> str:
    try:
        address = secret_file.read(path, "address of the database").decode("utf-8", "replace")
    except OSError as error:
        raise InvalidSetting(
            f"cannot read the address of the database, {path}: {error.strerror}",
            hint="ALAMA_DATABASE_FILE says where it is; the user who runs Alama must be able to "
            "read it",
        ) from error
    if not address or len(address.splitlines()) > 1:
        wrong = "has more than one line" if address else "is empty"
        raise InvalidSetting(
            f"{path} {wrong}", hint="ALAMA_DATABASE_FILE names a file with the address and no more"
        )
    _require_address(address)
    return address


def _require_address(address: str) -> None:
    """Raise `InvalidSetting` with the variable that is set: storage knows only the other."""
    from alama.platform.database.database import parse_address  # noqa: PLC0415  only where there is a file

    try:
        parse_address(address)
    except StoreUnfit as error:
        said = str(error).replace("ALAMA_DATABASE", "what ALAMA_DATABASE_FILE names")
        raise InvalidSetting(said, hint=error.hint) from None


def _invalid(field: str) -> InvalidSetting:
    setting = next(setting for setting in described() if setting.field == field)
    return InvalidSetting(f"{setting.variable} is not valid", hint=setting.meaning)
