"""What every built-in measure promises in its record."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from pydantic import ValidationError

from maskwright import UnpairedRecords
from maskwright_builtin.measures import MEASURES as OFFERED

MEASURES = tuple(each.record() for each in OFFERED)

PARAMS = {
    "weighted_score": {"components": [{"measure": "pil", "weight": 0.6}, {"measure": "sse", "weight": 0.4}]},
    "dominance": {"tables": [["v1"], ["v1", "v2"]], "amounts": ["v3"]},
    "k_anonymity": {"keys": ["v1", "v2"]},
    "uniqueness": {"keys": ["v1", "v2"]},
    "individual_risk": {"keys": ["v1", "v2"]},
    "k_map": {"keys": ["v1", "v2"]},
    "mixed_record_linkage": {"keys": ["v1", "v2"]},
    "mixed_probabilistic_record_linkage": {"keys": ["v1", "v2"]},
    "suda": {"keys": ["v1", "v2"]},
    "population_uniques": {"keys": ["v1", "v2"]},
    "l_diversity": {"keys": ["v1"], "sensitive": ["v3", "v4"]},
    "t_closeness": {"keys": ["v1"], "sensitive": ["v3", "v4"]},
    **{
        name: {"variables": ["v1", "v2", "v3", "v4"]}
        for name in (
            "contingency_tables",
            "contingency_table_loss",
            "cramers_v",
            "distance_based_loss",
            "entropy_based_loss",
        )
    },
}
"""Parameters of measures that do not run without."""

ALL = pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
OF_RECORDS = [measure for measure in MEASURES if not measure.claims.of_levels]
"""Measures of groups with their members have tests of their own, in the folder groups."""
ALL_OF_RECORDS = pytest.mark.parametrize("measure", OF_RECORDS, ids=lambda measure: measure.name)


def of(measure):
    return measure.params(**PARAMS.get(measure.name, {}))


def files(seed=21, n=120, p=4):
    generator = np.random.default_rng(seed)
    original = np.round(np.exp(generator.normal(size=(n, p)) * 0.7) * 1000)
    return original, original + generator.integers(-200, 200, (n, p))


def test_names_are_those_of_the_contract():
    assert {measure.name for measure in MEASURES} >= {
        "sse",
        "pil",
        "distance_record_linkage",
        "interval_disclosure",
        "score",
    }


@ALL
def test_the_record_is_complete(measure):
    assert measure.unit
    assert measure.direction in ("lower", "higher")
    assert measure.reference
    assert measure.summary
    assert measure.claims.deterministic == (measure.name not in ("subdomains", "weighted_score", "propensity"))
    assert measure.compute.__doc__
    for name, field in measure.params.model_fields.items():
        assert field.description, name
    with pytest.raises(ValidationError):
        measure.params(no_such_parameter=1)


@ALL
def test_the_definition_says_what_missing_cells_weights_and_households_do(measure):
    """All of it before the docstring's first section, which is what `maskwright explain` shows."""
    said = measure.compute.__doc__.partition("Returns\n")[0].lower()
    assert "missing" in said
    assert "weight" in said
    assert "household" in said or measure.kind == "loss"
    assert "interval" in said or measure.kind == "loss"


@ALL_OF_RECORDS
def test_claimed_invariances_hold(measure, compare):
    original, masked = files()
    expected = measure.compute(compare(original, masked), of(measure), np.random.default_rng(0)).value
    generator = np.random.default_rng(22)
    records, columns = generator.permutation(len(original)), generator.permutation(original.shape[1])
    factor, offset = (
        2.0 ** generator.integers(-3, 8, original.shape[1]),
        generator.integers(-1000, 1000, original.shape[1]),
    )
    changed = {
        "affine": (original * factor + offset, masked * factor + offset),
        "records": (original[records], masked[records]),
        "columns": (original[:, columns], masked[:, columns]),
    }
    assert measure.claims.invariant_to <= set(changed)
    for claim in measure.claims.invariant_to:
        found = measure.compute(compare(*changed[claim]), of(measure), np.random.default_rng(0)).value
        assert found == pytest.approx(expected, rel=1e-9), claim


@ALL_OF_RECORDS
def test_values_stay_in_range_and_inputs_and_generator_stay_as_they_are(measure, compare):
    original, masked = files()
    comparison, generator = compare(original, masked), np.random.default_rng(5)
    found = measure.compute(comparison, of(measure), generator)
    low, high = measure.range
    assert low is None or low <= found.value
    assert high is None or found.value <= high
    assert measure.claims.deterministic is False or generator.random() == np.random.default_rng(5).random()
    np.testing.assert_array_equal(comparison.original.matrix(), original)
    np.testing.assert_array_equal(comparison.masked.matrix(), masked)


UNPAIRED = {
    **PARAMS,
    "weighted_score": {"components": [{"measure": "pil", "weight": 1.0}]},
    "subdomains": {"random": 0, "domains": ["v1"]},
}
"""Parameters with which measures compare files as files."""
BY_PARAMETER = {"weighted_score", "subdomains"}


@ALL_OF_RECORDS
def test_files_of_different_length_are_compared_as_files_or_need_an_origin(measure, compare, rng):
    original, masked = files()
    original[:, 0], masked[:, 0] = original[:, 0] // 300, masked[:, 0] // 300
    unpaired, paired = compare(original, masked[:100]), compare(original, masked[:100], origin=np.arange(100))
    if not measure.claims.compares_unpaired or measure.name in BY_PARAMETER:
        with pytest.raises(UnpairedRecords, match="120 records and the masked file 100, and no --key"):
            measure.compute(unpaired, of(measure), rng)
        assert np.isfinite(measure.compute(paired, of(measure), rng).value)
    if measure.claims.compares_unpaired:
        params = measure.params(**UNPAIRED.get(measure.name, {}))
        found, expected = measure.compute(unpaired, params, rng), measure.compute(paired, params, rng)
        assert np.isfinite(found.value)
        assert (found.value, found.parts, found.per_variable) == (expected.value, expected.parts, expected.per_variable)


@pytest.mark.parametrize(
    "measure", [each for each in OF_RECORDS if each.claims.compares_unpaired], ids=lambda measure: measure.name
)
def test_weights_and_households_of_unpaired_records_are_not_known(measure, compare, rng):
    """They come from the originals: whoever needs them is refused, and nobody takes those of other records."""
    original, masked = files()
    original[:, 0], masked[:, 0] = original[:, 0] // 300, masked[:, 0] // 300
    comparison = compare(original, masked[:100], weights=np.ones(120), households=np.arange(120) // 2)
    params = UNPAIRED.get(measure.name, {})
    if "weighted" in measure.params.model_fields:
        assert np.isfinite(measure.compute(comparison, measure.params(**params), rng).value)
        params = {**params, "weighted": True}
    elif measure.name == "weighted_score":
        params = {"components": [{"measure": "pil", "weight": 1.0, "params": {"weighted": True}}]}
    with pytest.raises(UnpairedRecords, match="of masked records are those of their originals"):
        measure.compute(comparison, measure.params(**params), rng)


@ALL_OF_RECORDS
def test_notes_never_hold_values_of_records(measure, compare, rng):
    original, masked = files()
    original[:, 0] = 987654.0
    masked[:5, 1] = np.nan
    masked[:, 2] = np.nan
    found = measure.compute(compare(original, masked), of(measure), rng)
    assert found.notes
    assert not any("987654" in note for note in found.notes)


WITHOUT_COMPILER = """
import json, sys
import numpy as np
from maskwright import Column, Comparison, Dataset, Variable
from maskwright_builtin.measures import MEASURES as OFFERED

MEASURES = [each.record() for each in OFFERED]
files = [Dataset(tuple(Column(Variable(f"v{j + 1}"), np.array(c), np.zeros(len(c), bool)) for j, c in enumerate(f)))
         for f in json.load(sys.stdin)]
comparison = Comparison(*files, files[0].names)
chosen = [m for m in MEASURES if m.name not in sys.argv[1:] and not m.claims.of_levels]
values = {m.name: m.compute(comparison, m.params(), np.random.default_rng(0)).value.hex() for m in chosen}
print(json.dumps(values))
"""


def test_without_the_compiler_the_values_are_the_same_to_the_last_bit(compare, rng):
    original, masked = files(n=30)
    compiled = {
        m.name: m.compute(compare(original, masked), of(m), np.random.default_rng(0)).value.hex()
        for m in OF_RECORDS
        if m.name not in PARAMS
    }
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_COMPILER, *PARAMS],
        input=json.dumps([original.T.tolist(), masked.T.tolist()]),
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == compiled


def test_listing_the_measures_does_not_import_numba_or_scipy():
    code = "import sys, maskwright_builtin.measures; sys.exit(bool({'numba', 'scipy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
