"""Generalisation and post-randomisation of the synthetic survey."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from tables import REFERENCE

import maskwright as mw
from maskwright_builtin.methods.generalisation.generalisation import GENERALISATION, GeneralisationParams
from maskwright_builtin.methods.generalisation.mondrian import MONDRIAN, MondrianParams
from maskwright_builtin.methods.post_randomisation import corrected_counts
from maskwright_builtin.methods.post_randomisation.markov import direct, made_invariant, mixed

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYS = ("sex", "age", "town", "edu", "marital")
REGIONS = {f"region {region}": [str(town) for town in range(24) if town % 6 == region] for region in range(6)}
HIERARCHIES: dict[str, dict[str, Any]] = {
    "sex": {"type": "nominal", "hierarchy": {"groups": [{"*": ["0", "1"]}]}},
    "age": {"type": "integer", "hierarchy": {"widths": [5, 10, 20]}},
    "town": {"type": "nominal", "hierarchy": {"groups": [REGIONS]}},
    "edu": {"type": "nominal", "hierarchy": {"groups": [{"a": ["0", "1"], "b": ["2", "3"], "c": ["4", "5"]}]}},
    "marital": {"type": "nominal", "hierarchy": {"groups": [{"not alone": ["2", "3", "4"]}]}},
}
SURVEY = REFERENCE / "categorical_survey.csv"


def recoding() -> Iterator[float]:
    """Best losses of the lattice without and with suppression, then what strict Mondrian makes."""
    data = mw.read(SURVEY, variables=HIERARCHIES)
    values = data.matrix(KEYS)
    block = mw.Block(values, np.isnan(values), tuple(data[name].variable for name in KEYS))
    for limit in (0.0, 0.05):
        for loss in ("lm", "entropy", "discernibility", "height"):
            params = GeneralisationParams(k=5, suppression_limit=limit, loss=loss)
            yield float(GENERALISATION.protect(block, params, np.random.default_rng(1)).notes["loss_of_levels"])
    numbers = mw.read(SURVEY).matrix(KEYS)
    variables = tuple(mw.Variable(name, "integer", "quasi_identifier") for name in KEYS)
    block = mw.Block(numbers, np.isnan(numbers), variables)
    notes = MONDRIAN.protect(block, MondrianParams(k=5), np.random.default_rng(1)).notes
    for name in ("classes", "smallest_class", "largest_class", "normalised_certainty_penalty"):
        yield float(notes[name])


def post_randomisation() -> Iterator[float]:
    """Matrices for the six levels of education, 0.8 on the diagonal of the one asked for."""
    records = np.bincount(pd.read_csv(SURVEY)["edu"])
    frequencies = records / records.sum()
    asked = np.full((6, 6), 0.2 / 5) + np.eye(6) * (0.8 - 0.2 / 5)
    invariant = made_invariant(asked, frequencies)
    yield from (float(value) for value in np.diag(invariant))
    yield float(frequencies @ np.diag(invariant))
    yield float(frequencies @ np.diag(mixed(invariant, 0.5)))
    simple = np.diag(direct(frequencies, 0.3))
    yield from (float(simple[0]), float(simple[5]))
    deviations = np.sqrt(np.diag(corrected_counts(records @ asked, asked)[1]))
    yield from (float(deviations[0]), float(deviations[5]))
    yield float(np.linalg.cond(asked))
