"""``plan`` and ``measure`` import the libraries, and compile the kernels, of what is asked of them, and no others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import maskwright as mw
from maskwright.commands.demo.files import write_demo

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

OF_READING = {
    "maskwright", "maskwright_builtin", "maskwright_studio",
    "numpy", "pyarrow", "lxml",  # lxml for the name of a class
    "pydantic", "pydantic_core", "pydantic_settings", "annotated_types", "typing_extensions", "typing_inspection",
    "yaml", "lark", "pluggy", "cloudpickle", "rich", "cython_runtime",
}  # fmt: skip
"""Packages without which no file and no pipeline is read here."""

OF_GROUPING = {"pandas", "dateutil", "six"}
"""Packages that PyArrow imports to group combinations of values, which rules with ``in original`` need."""

OF_COMPILING = {"numba", "llvmlite", "scipy"}

IMPORTED = """
import contextlib, io, json, sys
before = set(sys.modules)
from maskwright.cli.main import main
with contextlib.redirect_stdout(io.StringIO()):
    for words in json.loads(sys.argv[1]):
        main(words)
kernels = []
if "numba" in sys.modules:
    from numba.core.dispatcher import Dispatcher
    kernels = [f"{each.py_func.__module__}.{each.py_func.__name__}" for name, module in list(sys.modules.items())
               if name.startswith("maskwright") for each in vars(module).values()
               if isinstance(each, Dispatcher) and each.signatures]
print(json.dumps([sorted(set(sys.modules) - before), sorted(set(kernels))]))
"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example survey, not masked."""
    return write_demo(tmp_path_factory.mktemp("demo"), 200).pipeline


def imported(*commands: Sequence[object]) -> tuple[set[str], list[str]]:
    """Modules that commands import, together, in a process of their own, and kernels that they compile or load."""
    words = json.dumps([list(map(str, command)) for command in commands])
    done = subprocess.run([sys.executable, "-c", IMPORTED, words], capture_output=True, text=True, check=True)
    modules, kernels = json.loads(done.stdout)
    return set(modules), kernels


def foreign(modules: set[str]) -> set[str]:
    """Packages of these modules that do not come with Python; a leading underscore is a part of another one."""
    roots = {name.partition(".")[0] for name in modules}
    return {name for name in roots - sys.stdlib_module_names if not name.startswith("_")}


def test_a_plan_imports_nothing_that_masks_or_compiles(demo: Path) -> None:
    forms = ((), ("--no-data",), ("--assume-records", "1000000"))
    modules, kernels = imported(*(("plan", demo, "--json", *words) for words in forms))
    assert foreign(modules) <= OF_READING | OF_GROUPING
    assert kernels == []
    elsewhere = (
        "maskwright.commands.levels", "maskwright.commands.parted", "maskwright.experiments", "maskwright.testing",
        "maskwright.masking.adjusting", "maskwright.edits.localisation",
    )  # fmt: skip
    assert [name for name in modules if name.startswith(elsewhere)] == []


@pytest.mark.parametrize(
    ("measures", "kernels"),
    [
        (("sse", "pil"), []),
        (("interval_disclosure",), ["attribute_disclosure.rank_intervals_kernel.disclosed_by_rank"]),
        (("distance_record_linkage",), ["record_linkage.kd_tree._cut", "record_linkage.kd_tree.search"]),
    ],
)
def test_a_measure_imports_and_compiles_what_it_computes_with(
    demo: Path, measures: tuple[str, ...], kernels: list[str]
) -> None:
    data = demo.parent / "survey.xml"
    table = data.with_suffix(".csv")  # of which no cell is in quotes
    mw.read(data, record="Household").to_pandas().to_csv(table, index=False)
    files = {"pil": table}
    modules, compiled = imported(
        *(("measure", *2 * (files.get(name, data),), "--measure", name, "--json") for name in measures)
    )
    assert compiled == [f"maskwright_builtin.measures.{name}" for name in kernels]
    of_numba = {"coverage", "charset_normalizer"} | OF_COMPILING
    assert foreign(modules) <= OF_READING | (of_numba if kernels else set())
    elsewhere = (
        "maskwright.masking.mask", "maskwright.masking.adjusting", "maskwright.masking.protecting",
        "maskwright.commands.running", "maskwright.commands.parted", "maskwright.experiments",
        "maskwright.edits.localisation",
    )  # fmt: skip
    assert [name for name in modules if name.startswith(elsewhere)] == []


def test_a_small_file_is_validated_without_pandas(tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    rows = [f"{1000 + 7 * number},{number},{1000 + 8 * number},{'abc'[number % 3]}" for number in range(1000)]
    data.write_text("wages,pensions,income,kind\n" + "\n".join(rows) + "\n", encoding="utf-8")
    rules = tmp_path / "rules.yaml"
    rules.write_text('- wages + pensions == income\n- kind in {"a", "b", "c"}\n', encoding="utf-8")
    modules, kernels = imported(("validate", data, "--edits", rules))
    assert foreign(modules) <= OF_READING
    assert kernels == []
    elsewhere = (
        "maskwright.masking",
        "maskwright.commands.levels",
        "maskwright.edits.whole_documents",
        "maskwright.edits.engines",
    )
    assert [name for name in modules if name.startswith(elsewhere)] == []


def test_linear_algebra_has_one_thread_and_is_loaded_after_that_is_said() -> None:
    """Its threads would wait for each other, and sums would differ between machines; who says otherwise is heard."""
    program = (
        "import os, sys; import maskwright.cli.main as cli; assert 'numpy' not in sys.modules\n"
        "cli.main = lambda: print(os.environ['OPENBLAS_NUM_THREADS']) or 0\ncli.command_line()"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    for stated, threads in ({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3"):
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment | stated, capture_output=True, text=True, check=False
        )  # fmt: skip
        assert done.stdout.splitlines()[-1:] == [threads], done.stderr
