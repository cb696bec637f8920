"""Without a library that an extra installs: what needs it says so, and everything else works."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from maskwright import Method, find_method
from maskwright.cli.main import main
from maskwright.foundation.errors import PluginError
from maskwright.plugins.contract import contract_error
from maskwright.plugins.packages import what_is_missing
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SAID = "the library PIL, which is not installed; pip install 'maskwright[compression]'"


@pytest.fixture
def without_pillow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The registry of an installation that has no Pillow."""
    monkeypatch.setitem(sys.modules, "PIL", None)
    plugins.cache_clear()
    yield
    plugins.cache_clear()


def protect(block: Any, params: Any, rng: Any) -> Any:
    raise AssertionError("not called here")


@pytest.mark.usefixtures("without_pillow")
def test_a_method_without_its_library_is_listed_with_what_installs_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "--strict", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["plugins"]
    others = {each["status"] for each in listed if each["name"] != "lossy_compression"}
    (found,) = (each for each in listed if each["name"] == "lossy_compression")
    assert others == {"ok"}
    assert found["status"] == "unavailable"
    assert SAID in found["error"]


@pytest.mark.usefixtures("without_pillow")
def test_a_pipeline_that_names_it_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.csv").write_text("age\n" + "".join(f"{n}\n" for n in range(30)))
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(
        "maskwright: 1\ndata: {source: data.csv}\nprotect:\n  - method: lossy_compression\nseed: 1\n"
        "output: {data: masked.csv}\n"
    )
    assert main(["run", str(pipeline)]) == 2
    told = capsys.readouterr().err
    assert "pipeline.yaml:4:" in told
    assert f"the method 'lossy_compression' is unavailable: it needs {SAID}" in told
    assert not (tmp_path / "masked.csv").exists()


@pytest.mark.usefixtures("without_pillow")
def test_a_call_and_an_explanation_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PluginError, match="is unavailable: it needs the library PIL"):
        find_method("lossy_compression")
    assert main(["explain", "lossy_compression"]) == 2
    assert SAID in capsys.readouterr().err


def test_with_the_library_it_is_a_method_like_others() -> None:
    assert what_is_missing(find_method("lossy_compression")) is None


@pytest.mark.parametrize("wrong", [("PIL",), {"PIL": ""}, {"not a name": "pip install it"}, {3: "pip install it"}])
def test_libraries_say_what_installs_them(wrong: Any) -> None:
    said = contract_error("method", Method(name="m", protect=protect, libraries=wrong))
    assert said is not None
    assert said.startswith("libraries must map names of modules to what installs them")
    assert contract_error("method", Method(name="m", protect=protect, libraries={"a.b": "pip install a"})) is None


def test_a_name_stays_with_its_owner_while_a_library_is_missing(tmp_path: Path) -> None:
    """What a pipeline means must not depend on what happens to be installed."""
    (tmp_path / "theirs.py").write_text(
        "import numpy as np\nimport maskwright as mw\nCONTRACT = 2\n"
        "def protect(block, params, rng):\n    return mw.Masked(block.values, block.missing)\n"
        "@mw.hookimpl\ndef register_methods():\n"
        "    return [mw.Method(name='lossy_compression', protect=protect)]\n"
    )
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[maskwright]\ntheirs = theirs\n")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.modules['PIL'] = None; "
        "from maskwright.cli.main import main; sys.exit(main(['plugins', '--json']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    found = [each for each in json.loads(done.stdout)["plugins"] if each["name"] == "lossy_compression"]
    assert {each["distribution"]: each["status"] for each in found} == {"maskwright": "unavailable", "theirs": "broken"}
    assert any("already built in" in str(each["error"]) for each in found)
