"""A package says which contract it is written for; one written for another is listed, and harms nobody."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from maskwright import Claims, Method, Removed
from maskwright.cli.main import main
from maskwright.plugins.contract import contract_error
from maskwright.plugins.legal_values import LEGAL_VALUES

sys.path.insert(0, str(Path(__file__).parent))
from installing import in_folder

if TYPE_CHECKING:
    from collections.abc import Callable

PLUGIN = """
import maskwright as mw
{contract}

@mw.hookimpl
def register_measures():
    return [mw.Measure(name="theirs", compute=lambda comparison, params, rng: mw.Measurement(0.0))]
"""


def install(folder: Path, contract: str, version: str = "2.0") -> None:
    """Put a package beside what is installed."""
    (folder / "p.py").write_text(PLUGIN.format(contract=contract))
    info = folder / f"p-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: p\nVersion: {version}\n")
    (info / "entry_points.txt").write_text("[maskwright]\np = p\n")


@pytest.fixture
def listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[], dict[str, Any]]:
    """Function that lists plugins, with those of the package."""

    def asked() -> dict[str, Any]:
        with in_folder(monkeypatch, tmp_path):
            assert main(["plugins", "--json"]) == 0
        told: dict[str, Any] = json.loads(capsys.readouterr().out)
        return told

    return asked


def errors(listed: dict[str, Any]) -> list[str | None]:
    """What `maskwright plugins` says of what the package offers; it lists the others too."""
    found = listed["plugins"]
    assert any(plugin["name"] == "microaggregation" and plugin["status"] == "ok" for plugin in found)
    return [plugin["error"] for plugin in found if plugin["distribution"] == "p"]


@pytest.mark.parametrize(
    ("contract", "said"),
    [
        ("", "package p 2.0 does not say which contract it is written for: write CONTRACT = 2 beside its hooks"),
        (
            "CONTRACT = 3",
            "package p 2.0 is written for contract 3, this Maskwright knows 2: update Maskwright or install an older p",
        ),
        (
            "CONTRACT = 1",
            "package p 2.0 is written for contract 1, and this Maskwright reads 2 and later: install a newer p",
        ),
        ("CONTRACT = 0", "CONTRACT = 0; it is a whole number"),
        ("CONTRACT = '1'", "CONTRACT = '1'; it is a whole number"),
        ("CONTRACT = True", "CONTRACT = True; it is a whole number"),
    ],
)
def test_a_package_for_another_contract_is_refused_in_one_sentence(
    tmp_path: Path, listed: Callable[[], dict[str, Any]], contract: str, said: str
) -> None:
    install(tmp_path, contract)
    (error,) = errors(listed())
    assert error is not None
    assert said in error


def test_a_package_for_this_contract_works(tmp_path: Path, listed: Callable[[], dict[str, Any]]) -> None:
    install(tmp_path, "CONTRACT = 2")
    assert errors(listed()) == [None]


def protect(block: Any, params: Any, rng: Any) -> Any:
    raise AssertionError("not called here")


@pytest.mark.parametrize(
    ("field", "wrong", "said"),
    [
        ("scope", "variables", "scope: 'variables' unknown; did you mean 'variable'? there are variable, group, all"),
        ("cut", "close", "cut: 'close' unknown; there are near, any, none"),
        ("preserves", {"means"}, "preserves: 'means' unknown; did you mean 'mean'?"),
        ("preserves", "k", "preserves must be a set, such as"),
        ("variable_types", {"numeric", "integer"}, "variable_types: 'numeric' unknown"),
        ("removes", {"rows"}, "removes: 'rows' unknown; there are detail, cells, records"),
        ("removes", {"records"}, "only a method with remove, and without protect, may take records away"),
        ("removes", {"Detail"}, "removes: 'Detail' unknown; did you mean 'detail'?"),
    ],
)
def test_a_wrong_value_is_named_with_the_nearest_legal_one(field: str, wrong: Any, said: str) -> None:
    if field == "scope":
        wrong_method = Method(name="m", protect=protect, scope=wrong)
    else:
        wrong_method = Method(name="m", protect=protect, claims=Claims(**{field: wrong}))
    assert said in str(contract_error("method", wrong_method))


def test_a_remover_says_what_it_takes_away() -> None:
    def remove(block: Any, params: Any, rng: Any) -> Removed:
        return Removed()

    wrong = Method(name="m", remove=remove, claims=Claims(removes={"record"}))  # type: ignore[arg-type]
    assert contract_error("method", wrong) == (
        "removes: 'record' unknown; did you mean 'records'? there are detail, cells, records"
    )
    either = Method(name="m", remove=remove, claims=Claims(removes={"cells", "records"}))
    assert "claims what that is" in str(contract_error("method", either))
    assert contract_error("method", Method(name="m")) == "must have protect or remove"
    both = Method(name="m", protect=protect, remove=remove)
    assert contract_error("method", both) == "has protect and remove, and may have one only"
    assert contract_error("method", Method(name="m", protect=protect, claims=None)) == (  # type: ignore[arg-type]
        "claims must be a maskwright.Claims, not a NoneType"
    )
    assert contract_error("method", Method(name="m", remove=remove, claims=Claims(removes={"cells"}))) is None


KEPT = Path(__file__).parents[3] / ".mypy_cache" / "of_authors"
"""What mypy knows of the libraries and of us, between runs."""

ELSEWHERE = [
    *("pandas", "scipy", "pyarrow", "lxml", "numba", "dask", "rich", "sqlalchemy", "matplotlib", "yaml"),
    *(f"maskwright.{room}" for room in ("cli", "commands", "edits", "experiments", "masking")),
    *(f"maskwright.{room}" for room in ("pipeline", "planning", "release", "testing")),
]
"""Packages and rooms that say nothing of the names below: mypy takes ten times as long with them."""

MYPY_INI = f"""
[mypy]
strict = true
follow_imports = silent
[mypy-{",".join(f"{each}.*" for each in ELSEWHERE)}]
follow_imports = skip
follow_imports_for_stubs = true
"""

TYPED = """
import numpy as np
import maskwright as mw

def protect(block: mw.Block, params: mw.NoParams, rng: np.random.Generator) -> mw.Masked:
    return mw.Masked(block.values, block.missing)

def remove(block: mw.Block, params: mw.NoParams, rng: np.random.Generator) -> mw.Removed:
    return mw.Removed(kept_rows=np.arange(block.n))

def compute(comparison: mw.Comparison, params: mw.NoParams, rng: np.random.Generator) -> mw.Measurement:
    return mw.Measurement(0.0)

RIGHT = mw.Method(name="a", protect=protect, scope="variable",
    claims=mw.Claims(preserves={"mean"}, variable_types={"integer"}))
ALSO = mw.Method(name="b", remove=remove, claims=mw.Claims(removes={"records"}, preserves={"linear"}))
THIRD = mw.Measure(name="c", compute=compute, kind="risk", direction="higher",
    claims=mw.MeasureClaims(invariant_to={"affine"}))
"""

TYPOS = [
    'mw.Claims(preserves={"means"})',
    'mw.Claims(variable_types={"numeric"})',
    'mw.Method(name="a", protect=protect, scope="variables")',
    'mw.Claims(removes={"rows"})',
    'mw.Claims(cut="close")',
    'mw.Method("a", protect)',
    'mw.Method(name="b", remove=remove, preserves={"mean"})',
    'mw.Measure(name="c", compute=compute, kind="gain")',
    'mw.Measure(name="c", compute=compute, direction="up")',
    'mw.MeasureClaims(invariant_to={"shift"})',
]


def test_a_typo_is_a_type_error_at_the_desk_of_the_author(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    first = len(TYPED.splitlines()) + 1
    (tmp_path / "typed.py").write_text(TYPED + "\n".join(f"WRONG_{n} = {typo}" for n, typo in enumerate(TYPOS)) + "\n")
    (tmp_path / "mypy.ini").write_text(MYPY_INI)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", str(KEPT), "typed.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    lines = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    assert lines == set(range(first, first + len(TYPOS))), done.stdout + done.stderr


def test_every_annotation_with_legal_values_is_known() -> None:
    import typing

    from maskwright.plugins import legal_values

    aliases = {name for name, value in vars(legal_values).items() if typing.get_origin(value) is typing.Literal}
    assert aliases == set(LEGAL_VALUES)
