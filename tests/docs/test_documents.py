"""The documents keep up with the code: what is undocumented, or documented and gone, fails the build."""

import re
import subprocess
from pathlib import Path

import pytest

from emissary.api.app import create_app
from emissary.model.errors import PROBLEMS, EmissaryError
from emissary.model.fields import FieldSpec
from emissary.model.pages import Code, Format
from emissary.settings import Settings
from emissary.telemetry.metrics import Metrics
from emissary.testing.web.sites import NAMES

_ROOT = Path(__file__).parent.parent.parent
_TICKED = re.compile(r"`([^`]+)`")


def _first_column(document: str) -> set[str]:
    """What the rows of a document's tables are about."""
    rows = (_ROOT / "docs" / document).read_text().splitlines()
    cells = (row.split("|")[1] for row in rows if row.startswith("| `"))
    return {name for cell in cells for name in _TICKED.findall(cell)}


def test_every_setting_is_documented_and_no_other() -> None:
    names = {f"EMISSARY_{name.upper()}" for name in Settings.model_fields}
    assert _first_column("settings.md") == names


def test_every_problem_is_documented_and_no_other() -> None:
    assert _first_column("errors.md") == set(PROBLEMS)


def test_the_documented_status_of_a_problem_is_the_one_it_has() -> None:
    text = (_ROOT / "docs" / "errors.md").read_text()
    documented = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", text, re.MULTILINE))
    assert documented == {code: str(row.status) for code, row in PROBLEMS.items()}


def test_every_error_has_a_code_of_the_table() -> None:
    def kinds(root: type[EmissaryError]) -> list[type[EmissaryError]]:
        return [root, *(kind for child in root.__subclasses__() for kind in kinds(child))]

    assert {kind.code for kind in kinds(EmissaryError)} <= set(PROBLEMS)


def test_every_metric_is_documented_and_no_other() -> None:
    described = list(Metrics().registry.collect())
    names = {f"{metric.name}_total" if metric.type == "counter" else metric.name for metric in described}
    assert _first_column("metrics.md") == names


def test_every_route_is_documented_and_no_other() -> None:
    app = create_app(_Nothing())  # type: ignore[arg-type]
    routes = {f"{method.upper()} {path}" for path, item in app.openapi()["paths"].items() for method in item}
    documented = {name for name in _first_column("api.md") if name.split()[0] in ("GET", "POST", "PATCH", "DELETE")}
    assert documented == routes | {"GET /docs", "GET /openapi.json"}


class _Nothing:
    """Services for an app that only shows its routes."""

    version = "0"
    metrics = Metrics()
    clock = None


@pytest.mark.parametrize("name", [*Format, *Code])
def test_every_format_and_every_outcome_is_documented(name: str) -> None:
    words = set(re.findall(r"\w+", (_ROOT / "docs" / "api.md").read_text()))
    assert str(name) in words


def test_every_key_of_a_field_is_documented() -> None:
    assert set(FieldSpec.__struct_fields__) <= _first_column("fields.md")


def test_every_site_of_the_local_web_is_documented() -> None:
    assert set(NAMES) <= _first_column("testing-web.md")


def test_every_link_between_documents_leads_somewhere() -> None:
    for document in [*_ROOT.glob("*.md"), *_ROOT.glob("docs/**/*.md"), *_ROOT.glob("clients/*/*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} → {target}"


def test_every_decision_says_how_it_is_checked() -> None:
    for decision in (_ROOT / "docs" / "adr").glob("*.md"):
        text = decision.read_text()
        for part in ("**Context.**", "**Decision.**", "**Consequences.**", "**How we check"):
            assert part in text, f"{decision.name}: {part}"


def test_the_seven_stations_can_be_found_in_the_code() -> None:
    stations = {
        found.group(1)
        for module in (_ROOT / "src").rglob("*.py")
        if (found := re.match(r'"""Station (\d) of 7', module.read_text()))
    }
    assert stations == set("1234567")


def test_the_readme_shows_the_two_commands() -> None:
    text = (_ROOT / "README.md").read_text()
    assert "./emissary up" in text
    assert "./emissary test" in text


def test_lock_files_name_no_index() -> None:
    for lock in (_ROOT / "locks").glob("*.txt"):
        assert "://" not in lock.read_text(), lock.name


def test_the_wrapper_is_valid_shell() -> None:
    subprocess.run(["bash", "-n", str(_ROOT / "emissary"), str(_ROOT / ".ci" / "run")], check=True)
