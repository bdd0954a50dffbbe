"""EMISSARY_* and the YAML file become one frozen tree. The environment is read here and nowhere else."""

import os
import re
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AnyHttpUrl, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from emissary.engine.events import is_secret
from emissary.model.accounts import Allowance
from emissary.model.errors import SettingsError
from emissary.model.rates import MOST_PER_MINUTE, Rate
from emissary.products.kinds import things_of

__all__ = ["Settings", "load_settings", "server_of"]

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[a-z0-9.-]+(:[0-9]+)?|https?://\[[0-9a-f:]+\](:[0-9]+)?")
_URL_FORMS = {
    "database_url": "postgresql://user:password@host:port/database",
    "objects_url": "s3://key:secret@bucket/folder?endpoint=https://host:port",
}


class Settings(BaseSettings):
    """Every setting, with the value it has when nobody sets it. docs/settings.md lists them, and a test compares."""

    model_config = SettingsConfigDict(env_prefix="EMISSARY_", frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", description="Address to listen on. Anything but loopback needs a key first.")
    port: int = Field(7733, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    data_dir: Path = Field(
        default_factory=lambda: _home() / "emissary", description="Where the database and the objects are kept."
    )
    api_key: SecretStr | None = Field(
        None, description="Sets the first API key instead of having one made; clients send it."
    )
    url: AnyHttpUrl | None = Field(None, description="The server that the client and the command line speak to.")
    database_url: SecretStr | None = Field(None, description="The PostgreSQL database that processes share.")
    objects_url: SecretStr | None = Field(None, description="The S3-compatible object store that processes share.")
    allow_networks: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Networks that may be read although they are not public, separated by commas."
    )
    agent_url: AnyHttpUrl | None = Field(
        None, description="Your public address, named in the User-Agent so that a site's owner can reach you."
    )
    agent_email: str | None = Field(None, description="An address for site owners to write to, sent as `From`.")
    signature_form: Literal["current", "pre-01"] = Field(
        "current", description="How Signature-Agent is written; `pre-01` is for older verifiers."
    )
    egress: Annotated[tuple[dict[str, Any], ...], NoDecode] = Field(
        (), description="Proxies to leave by, as a list of objects with `url`, `name`, `provider`, `region`, `labels`."
    )
    egress_strategy: Literal["round_robin", "least_loaded"] = Field(
        "round_robin", description="Which proxy is taken next."
    )
    captures: bool = Field(True, description="Keep what pages answered in hourly WARC segments, for a day.")
    host_gap: float = Field(1.0, ge=0, le=3600, description="Seconds between two requests to one host, at least.")
    host_concurrency: int = Field(1, ge=1, le=16, description="Requests to one host at the same time, at most.")
    worker_memory: int | None = Field(
        None, ge=64, description="MiB of memory above which a worker takes nothing more on."
    )
    max_active: int | None = Field(
        None, ge=1, description="Hosts that all workers together read at the same time, at most."
    )
    account_most_active: int | None = Field(
        None, ge=1, description="Hosts that are read for one account at the same time, at most."
    )
    account_most_queued: int | None = Field(
        None, ge=1, description="Jobs of one account that have not ended, at most; more are not accepted."
    )
    account_rate: int | None = Field(
        None, ge=1, le=MOST_PER_MINUTE, description="Requests of one account a minute, at most."
    )
    account_burst: int | None = Field(
        None, ge=1, le=MOST_PER_MINUTE, description="How many of them may come at once; a minute's worth if left out."
    )
    api_most_at_once: int = Field(
        100, ge=8, le=10_000, description="Requests that one server works on at the same time, at most."
    )
    api_most_waiting: int = Field(
        1000, ge=1, le=100_000, description="Requests that wait in one server for what they asked for, at most."
    )
    api_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Origins whose pages may ask from a browser, separated by commas; `*` is all of them."
    )
    events_seconds: float = Field(
        900.0, ge=0.1, le=86400, description="Seconds for which one stream of events is held open, at most."
    )
    worker_lanes: int = Field(100, ge=1, le=5000, description="Hosts that one worker reads at the same time.")
    worker_kinds: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Kinds of work that a worker does, separated by commas; all where none is named."
    )
    extraction_processes: int = Field(
        default_factory=lambda: len(os.sched_getaffinity(0)),
        ge=1,
        le=256,
        description="Processes that read large pages, at most.",
    )
    extraction_memory: int = Field(1024, ge=256, le=65536, description="MiB of memory that one of them may take.")
    extraction_seconds: float = Field(30.0, ge=1, le=600, description="Seconds that reading one page may take.")
    keep_days: int = Field(30, ge=1, le=3650, description="Days for which jobs and results are kept.")
    alert_webhook: AnyHttpUrl | None = Field(
        None, description="Where the operator is told of what needs a look, such as a worker that died."
    )
    alert_secret: SecretStr | None = Field(
        None, validate_default=True, description="Signs what is sent there: `whsec_` and the base64 of 24 to 64 bytes."
    )
    chromium: Path | None = Field(None, description="The Chromium to use, where there are several.")
    log: Literal["json", "pretty"] = Field("pretty", description="Logs for machines or for people.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="The least that is logged.")

    @field_validator("allow_networks", "api_origins", "worker_kinds", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("egress", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        """A list as YAML, of which JSON is a part. What it says is not shown: there are passwords in it."""
        if not isinstance(value, str):
            return value
        try:
            return yaml.safe_load(value) or ()
        except yaml.YAMLError:
            raise ValueError("this is neither JSON nor YAML") from None

    @field_validator("worker_kinds")
    @classmethod
    def _known_kinds(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        things_of(value)
        return value

    @field_validator("api_origins")
    @classmethod
    def _as_browsers_write_them(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for origin in value:
            if origin != "*" and _ORIGIN.fullmatch(origin) is None:
                raise ValueError(f"{origin!r} is no origin: write it as browsers do, as in https://app.example")
        return value

    @field_validator("api_key")
    @classmethod
    def _long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < 8:
            raise ValueError("a key has at least 8 characters")
        return value

    @field_validator("database_url", "objects_url")
    @classmethod
    def _known_scheme(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        """What it says is not shown: there are passwords in it."""
        form = _URL_FORMS[str(info.field_name)]
        if value is not None and not value.get_secret_value().startswith(form.partition("//")[0]):
            raise ValueError(f"this is no such URL; write {form}")
        return value

    @field_validator("alert_secret")
    @classmethod
    def _signs_alerts(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if value is None and info.data.get("alert_webhook") is not None:
            raise ValueError("alerts are signed: it is needed with EMISSARY_ALERT_WEBHOOK")
        if value is not None and not is_secret(value.get_secret_value()):
            raise ValueError("this cannot be signed with: it is `whsec_` and the base64 of 24 to 64 bytes")
        return value

    @field_validator("account_burst")
    @classmethod
    def _of_a_rate(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is not None and info.data.get("account_rate") is None:
            raise ValueError("there is no rate that it belongs to: set EMISSARY_ACCOUNT_RATE as well")
        return value

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach what listens on `host`."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def contact(self) -> str:
        """Where a site's owner can reach us; where nobody has said, this says so."""
        if self.agent_url is None:
            return "https://agent-url-not-set.invalid/"
        return str(
            AnyHttpUrl.build(
                scheme=self.agent_url.scheme, host=self.agent_url.host or "", port=self.agent_url.port, path="bot"
            )
        )

    @property
    def keep(self) -> timedelta:
        return timedelta(days=self.keep_days)

    @property
    def allowance(self) -> Allowance:
        """What an account may do that was granted nothing else."""
        per_minute = self.account_rate
        rate = None if per_minute is None else Rate(per_minute, self.account_burst or per_minute)
        return Allowance(most_active=self.account_most_active, most_queued=self.account_most_queued, rate=rate)

    @property
    def gap(self) -> timedelta:
        return timedelta(seconds=self.host_gap)


def load_settings(file: Path | None = None, **given: Any) -> Settings:
    """What was given on the command line wins over the environment, that over the file, and that over the defaults."""
    written = {} if file is None else _read(file)
    asked = {name: value for name, value in given.items() if value is not None}

    class Layered(Settings):
        """Settings with a file below the environment."""

        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            *_: PydanticBaseSettingsSource,
            **__: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, InitSettingsSource(settings_cls, written)

    try:
        return Layered(**asked)
    except ValidationError as error:
        raise SettingsError("; ".join(_say(problem) for problem in error.errors(include_url=False))) from error


def server_of(url: str | None = None, key: str | None = None) -> tuple[str, str | None]:
    """The server to speak to and the key to show, from the environment where they are not given."""
    if url is None or key is None:
        settings = load_settings()
        url = url or (None if settings.url is None else str(settings.url))
        key = key or (None if settings.api_key is None else settings.api_key.get_secret_value())
    if url is None:
        raise SettingsError("no server is named: give its URL or set EMISSARY_URL, or use Emissary.open() without one")
    return url, key


def _read(file: Path) -> dict[str, Any]:
    try:
        written = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from error
    if not isinstance(written, dict | None):
        raise SettingsError(f"{file} must hold names and values, such as `host_gap: 2`")
    return {str(name): value for name, value in (written or {}).items()}


def _say(problem: Any) -> str:
    name = ".".join(str(part) for part in problem["loc"])
    return f"EMISSARY_{name.upper()}: {problem['msg']}"


def _home() -> Path:
    return Path("~/.local/share").expanduser()
