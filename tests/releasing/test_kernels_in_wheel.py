"""A wheel made on a machine carries the machine code of a usual run for it; the run compiles nothing then."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

COUNTED = """
import json, os, sys
from numba.core.dispatcher import Dispatcher
sys.path.insert(0, os.path.join(sys.argv[1], "packaging"))
import kernels
for part in kernels.PARTS.values():
    part()

def signatures():
    own = [value for name, module in list(sys.modules.items()) if name.startswith("maskwright")
           for value in vars(module).values() if isinstance(value, Dispatcher)
           and not value.targetoptions.get("forceinline")]  # of those each caller has its own copy
    return {f"{each.py_func.__module__}.{each.py_func.__name__}": [str(one) for one in each.signatures] for each in own}

made = signatures()
from maskwright.commands.demo.files import write_demo
from maskwright.commands.run import run
from pathlib import Path
run(write_demo(Path("demo"), 1080).pipeline)
print(json.dumps([made, signatures()]))
"""

FOR_TWO_KINDS = {"kd.select", "kd.widest_column", "kd._put_in_turn", "kd._comes_first", "groups.put_in"}
"""Cuts of MDAV are in binary32 and those of linkage in binary64; records are counted from 0 in int32 and in int64."""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, list[str]]]:
    """Signatures that are compiled for a wheel, and those after the demo besides, by function."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, str(ROOT)],
        capture_output=True, text=True, check=True, timeout=280, cwd=tmp_path_factory.mktemp("run"),
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def test_the_demo_needs_no_code_that_is_not_in_the_wheel(kernels: list[dict[str, list[str]]]) -> None:
    made, needed = kernels
    assert sum(map(len, made.values())) > 10
    assert {name: set(each) - set(made.get(name, ())) for name, each in needed.items()} == {
        name: set() for name in needed
    }


def test_no_kernel_is_called_with_two_kinds_of_arguments(kernels: list[dict[str, list[str]]]) -> None:
    # What kernels call among themselves is compiled with them: the last test of this file sees it.
    assert {name: each for name, each in kernels[1].items() if len(each) > 1} == {}


@pytest.fixture
def built(tmp_path: Path) -> list[str]:
    """What a wheel for any machine holds."""
    return build(tmp_path, MASKWRIGHT_KERNELS="none")


def build(folder: Path, **environment: str) -> list[str]:
    """Names of the wheel, and what it holds."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        check=True, capture_output=True, cwd=ROOT, env={**os.environ, **environment}, timeout=900,
    )  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    return [wheel.name, *zipfile.ZipFile(wheel).namelist()]


def test_a_wheel_for_any_machine_carries_no_machine_code(built: list[str]) -> None:
    assert built[0].endswith("-py3-none-any.whl")
    assert not [name for name in built if "__pycache__" in name]


def test_where_kernels_cannot_be_compiled_the_wheel_is_for_any_machine(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('no NumPy here')\n", encoding="utf-8")
    held = build(tmp_path / "wheel", MASKWRIGHT_KERNELS="", PYTHONPATH=str(tmp_path))
    assert held[0].endswith("-py3-none-any.whl")
    assert "maskwright/cli/main.py" in held


@pytest.mark.slow
@pytest.mark.timeout(1000)
def test_a_wheel_for_this_machine_carries_machine_code(tmp_path: Path) -> None:
    held = build(tmp_path, MASKWRIGHT_KERNELS="")
    assert "-none-any" not in held[0]
    files = [Path(name).name for name in held if "__pycache__" in name]
    assert len([name for name in files if name.endswith(".nbi")]) > 20
    assert {name.partition("-")[0] for name in files if name.endswith(".2.nbc")} <= FOR_TWO_KINDS
    assert not [name for name in files if name.endswith(".3.nbc")]
