"""The small share of benchmarks/fuzzing.py that every check runs: damage gives a verdict or an error for people."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from lxml import etree, isoschematron

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
fuzzing = pytest.importorskip("fuzzing", reason="the folder benchmarks is not here")
sys.path.pop(0)


@pytest.mark.parametrize(
    ("target", "mutations"),
    [
        *(("data", 40), ("schema", 15), ("rules", 20), ("pipeline", 20)),
        *(
            pytest.param(target, mutations, marks=pytest.mark.slow)
            for target, mutations in (("data", 150), ("schema", 60), ("rules", 80), ("pipeline", 80))
        ),
    ],
)
def test_damage_never_crashes_and_never_makes_a_file_valid(tmp_path: Path, target: str, mutations: int) -> None:
    pick = random.Random(target)
    finder = isoschematron.Schematron.ASSERTS_AND_REPORTS
    compiled = isoschematron.Schematron(etree.fromstring(fuzzing.SCHEMA), error_finder=finder)
    for _ in range(mutations):
        contents = fuzzing.damaged(pick, target)
        for name, content in contents.items():
            (tmp_path / name).write_bytes(content)
        outcome, fault = fuzzing.attempt(target, {name: tmp_path / name for name in contents})
        assert fault is None, contents[fuzzing.TARGETS[target]]
        if outcome == "valid" and target in ("data", "schema"):
            oracle = compiled if target == "data" else contents["rules.sch"]
            assert not fuzzing.is_refuted(oracle, contents["data.xml"])


@pytest.mark.parametrize("target", fuzzing.TARGETS)
def test_undamaged_files_are_read(tmp_path: Path, target: str) -> None:
    pick = random.Random(1)
    contents = {
        "data.xml": fuzzing.data_of(pick, True),
        "rules.sch": fuzzing.SCHEMA,
        "rules.yaml": fuzzing.RULES,
        "pipeline.yaml": fuzzing.PIPELINE,
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    wanted = "read" if target == "pipeline" else "valid"
    assert fuzzing.attempt(target, {name: tmp_path / name for name in contents}) == (wanted, None)


def test_a_file_name_of_a_thousand_letters_is_a_mistake_and_no_crash(tmp_path: Path) -> None:
    """Found by the damage of 100,000 files."""
    from maskwright.foundation.errors import InputError
    from maskwright.pipeline.reading import resolve_file

    path = tmp_path / "pipeline.yaml"
    path.write_bytes(fuzzing.PIPELINE.replace(b"data.xml", b"9" * 1000 + b".xml"))
    with pytest.raises(InputError, match="the file name cannot be used"):
        resolve_file(path)
