"""Risk, linkage and utility of categorical keys: figures of other programs on a synthetic survey."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from tables import GOLDEN, REFERENCE, Cell, Paper, Table, cell

import maskwright as mw
from maskwright_builtin.key_counts.frequencies import count_keys
from maskwright_builtin.measures.key_variables.individual_risk import outlying
from maskwright_builtin.measures.key_variables.population_models import pitman, zayatz
from papers.categorical_protection import post_randomisation, recoding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SOURCE = "independent computations; sdcMicro 5.8.1 where the page says so"
KEYS = ["region", "sex", "age10", "edu", "occ", "marital"]
LINKED = ["region", "sex", "age", "edu", "occ", "marital"]
LOST = ["region", "sex", "edu", "occ", "marital", "income"]
NOMINAL = {"type": "nominal", "role": "quasi_identifier"}
ITERATED = 0.3
"""All pairs: the figure after 60 sweeps differs by this from the one after 500."""
SEARCHED = 1e-3
"""Relative: maxima of flat likelihoods, and separated regressions, end where their program stops."""


@cache
def survey() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "categorical_survey.csv")


@cache
def masked_survey() -> pd.DataFrame:
    """The survey, changed without randomness."""
    before = survey()
    n, i = len(before), np.arange(1, len(before) + 1)
    return before.assign(
        edu=np.where(7 * i % 10 < 2, np.minimum(before["edu"] + 1, 5), before["edu"]),
        marital=np.where(i % 9 == 0, (before["marital"] + 1) % 5, before["marital"]),
        occ=np.where(i % 5 == 0, before["occ"].to_numpy()[13 * i % n], before["occ"]),
        region=np.where(i % 11 == 0, (before["region"] + 3) % 6, before["region"]),
    )


def found(before: pd.DataFrame, after: pd.DataFrame, name: str, declared: Any = None, **params: Any) -> mw.Measurement:
    return mw.measure(before, after, [{name: params}], declared=declared)[name]


def counts() -> Iterator[float]:
    codes = [survey()[key].to_numpy() for key in KEYS]
    record = np.arange(len(survey()))
    holes = [np.where((record * (j + 3) + 11 * j) % 41 == 5, -1, code) for j, code in enumerate(codes)]
    for rule in ("own", "alpha0", "subset", "wildcard"):
        counted = count_keys(holes, rule, survey()["weight"].to_numpy(float))
        yield from (float(each) for each in (counted.file.sum(), (counted.file == 1).sum(), (counted.file == 2).sum()))
        yield float(counted.population.sum())
    yield float((count_keys(codes, "own").file == 1).sum())


def risk() -> Iterator[float]:
    others = ("id", "town", "age", "income", "disease", "pop_count")
    declared = {"weight": {"role": "weight"}, **dict.fromkeys(KEYS, NOMINAL)}
    declared |= {name: {"role": "other"} for name in others}
    data = mw.read(REFERENCE / "categorical_survey.csv", variables=declared, cluster="hid")
    exact, approximate = (
        mw.measure(data, data, [{"individual_risk": {"formula": formula, "target_rate": [0.01, 0.02, 0.05]}}])
        for formula in ("exact", "approximate")
    )
    exact_parts = exact["individual_risk"].parts
    near = approximate["individual_risk"]
    yield exact_parts["expected_reidentifications"]
    yield near.parts["expected_reidentifications"]
    yield exact_parts["households_expected"]
    yield exact_parts["household_members_expected"]
    yield near.parts["household_members_expected"]
    yield from (near.parts[f"risk_for_rate_0_0{digit}"] for digit in (1, 2, 5))
    once = np.ones(len(near.per_record), dtype=np.int64)
    yield from (float(outlying(near.per_record, once, deviations).sum()) for deviations in (1, 2))


def uniques() -> Iterator[float]:
    cells = pd.read_csv(REFERENCE / "categorical_srs_cells.csv", dtype=dict.fromkeys(KEYS, str))
    sample = cells.loc[cells.index.repeat(cells["f"]), KEYS].reset_index(drop=True)

    def parts(model: str) -> dict[str, float]:
        return found(sample, sample, "population_uniques", keys=KEYS, model=model, sampling_fraction=0.05).parts

    main, pairs = parts("main_effects"), parts("all_pairs")
    yield from (main["tau1"], main["tau2"], main["b"], pairs["tau1"], pairs["tau2"])
    sizes = np.bincount(cells["f"])
    yield zayatz(sizes, 60_000)
    yield parts("zayatz")["in_population"]
    yield from pitman(sizes, 60_000)


def suda() -> Iterator[float]:
    data = survey().astype(dict.fromkeys(KEYS, str))
    every = found(data, data, "suda", keys=KEYS, sampling_fraction=0.01)
    yield float((every.per_record > 0).sum())
    yield every.parts["total_score"]
    yield from (every.parts[f"msus_{size}"] for size in range(1, 7))
    yield every.parts["dis"] / 100
    yield float(every.per_record.sum()) / 100
    yield every.parts["largest_risk"] / 100
    yield from every.per_variable.values()
    small = found(data, data, "suda", keys=KEYS, sampling_fraction=0.01, largest=3)
    yield float((small.per_record > 0).sum())
    yield small.parts["total_score"]


def diversity() -> Iterator[float]:
    for sensitive, levels in (("income", "01234"), ("disease", "012345")):
        frame = survey()[["region", "sex", "age10", sensitive]].astype(str)
        asked = {"keys": ["region", "sex", "age10"], "sensitive": [sensitive]}
        nominal = {sensitive: {"type": "nominal"}}
        for count in ("distinct", "entropy"):
            yield found(frame, frame, "l_diversity", nominal, count=count, **asked).value
        yield found(frame, frame, "t_closeness", nominal, **asked).value
        ordered = {sensitive: {"type": "ordinal", "categories": list(levels)}}
        yield found(frame, frame, "t_closeness", ordered, **asked).value


def linkage() -> Iterator[float]:
    files = survey()[LINKED], masked_survey()[LINKED]
    nominal = ["region", "sex", "occ", "marital"]
    gower = found(*files, "mixed_record_linkage", keys=LINKED, nominal=nominal, direction="masked_to_original")
    yield from (gower.parts["correct_links"], gower.value, gower.parts["mean_ties"])
    em = found(
        *files, "mixed_probabilistic_record_linkage", keys=LINKED, nominal=LINKED, estimate="em", frequencies=False
    ).parts
    yield from (em[f"m_{key}"] for key in LINKED)
    yield em["prior"] * len(files[0])
    yield from (em[f"true_m_{key}"] for key in ("region", "edu", "occ", "marital"))


def utility() -> Iterator[float]:
    files = survey()[LOST].astype(str), masked_survey()[LOST].astype(str)
    declared = dict.fromkeys(LOST, NOMINAL)
    tables = found(*files, "contingency_tables", declared, ways=3).parts
    sums = found(*files, "contingency_table_loss", declared, ways=3).parts
    for ways in (1, 2, 3):
        yield from (tables[f"hellinger_{ways}"], tables[f"total_variation_{ways}"], sums[f"sum_{ways}"])
    association = found(*files, "cramers_v", declared)
    yield from (association.value, association.parts["largest"])
    for name in ("edu", "marital", "occ", "region"):
        yield found(*files, "entropy_based_loss", declared, variables=[name]).parts["bits"]
    ordered = {**declared, "edu": {**NOMINAL, "type": "ordinal", "categories": list("012345")}}
    share = len(survey()) / 100
    moved = found(*files, "distance_based_loss", ordered).per_variable
    yield from (moved[name] * share for name in ("marital", "occ", "region", "edu"))
    yield found(*files, "distance_based_loss", ordered, ordered="mid_ranks").per_variable["edu"] * share


def propensities() -> Iterator[float]:
    files = survey()[LOST].astype(str), masked_survey()[LOST].astype(str)
    declared = dict.fromkeys(LOST, NOMINAL)
    for interactions in (False, True):
        propensity = found(*files, "propensity", declared, interactions=interactions)
        yield from (propensity.value, propensity.parts["ratio"])


COMPUTED: dict[str, tuple[str, Callable[[], Iterator[float]]]] = {
    "counts": ("counts on keys with missing cells", counts),
    "risk": ("individual and household risk", risk),
    "uniques": ("uniques of the population", uniques),
    "suda": ("special uniques", suda),
    "diversity": ("l-diversity and t-closeness, region x sex x age10", diversity),
    "linkage": ("record linkage", linkage),
    "utility": ("information loss", utility),
    "propensity": ("propensity to be masked", propensities),
    "recoding": ("generalisation", recoding),
    "post_randomisation": ("post-randomisation of edu", post_randomisation),
}
SLOW = ("propensity",)
LOOSE = {
    "all pairs, tau1": ITERATED, "all pairs, tau2": ITERATED, "Pitman, theta": 189 * SEARCHED,
    "Pitman, alpha": 0.78 * SEARCHED, "Pitman, uniques of the population": 16_547 * SEARCHED,
    "propensity, all pairs": 0.012 * 10 * SEARCHED, "propensity, all pairs, ratio": 1.3 * 10 * SEARCHED,
}  # fmt: skip
ITERATION = 1e-4
"""Estimates by EM stop when they change by less."""


def cells(name: str) -> Iterator[Cell]:
    stated = pd.read_csv(GOLDEN / "categorical_stated.csv", comment="#", dtype=str)
    rows = stated[stated["table"] == name]
    ours = list(COMPUTED[name][1]())
    for row, value in zip(rows.to_dict("records"), ours, strict=True):
        em = ITERATION if row["item"].startswith("EM") else 0.0
        tolerance = LOOSE.get(row["item"], 10 * em if "expected" in row["item"] else em)
        yield cell(row["item"], "", row["stated"], value, tolerance=tolerance)


PAPER = Paper(
    "categorical-risk-and-utility",
    "Categorical risk and utility (other programs)",
    tuple(
        Table(
            f"categorical_{name}",
            title[:1].upper() + title[1:],
            SOURCE,
            lambda name=name: cells(name),
            slow=name in SLOW,
        )
        for name, (title, _) in COMPUTED.items()
    ),
)
