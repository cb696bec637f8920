"""Full-domain generalisation: published optima, every optimum by brute force, criteria counted again."""

from __future__ import annotations

import csv
import itertools
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskwright as mw
from maskwright_builtin.methods.class_criteria import Criteria, bounds_of
from maskwright_builtin.methods.generalisation.generalisation import GENERALISATION, GeneralisationParams
from maskwright_builtin.methods.generalisation.hierarchy_levels import keys_and_rows, loss_of
from maskwright_builtin.methods.generalisation.lattice_search import Evaluator, Lattice, _best_of_beam, is_better

REFERENCE = Path(__file__).parents[3] / "reference"
KEYS = ("sex", "age", "town", "edu", "marital")
COLUMNS = {"lm": "lm", "entropy": "entropy_bits", "discernibility": "dm", "height": "height"}
REGIONS = {f"region {r}": [str(town) for town in range(24) if town % 6 == r] for r in range(6)}
DECLARED: dict[str, dict[str, Any]] = {
    "sex": {"type": "nominal", "hierarchy": {"groups": [{"*": ["0", "1"]}]}},
    "age": {"type": "integer", "hierarchy": {"widths": [5, 10, 20]}},
    "town": {"type": "nominal", "hierarchy": {"groups": [REGIONS]}},
    "edu": {"type": "nominal", "hierarchy": {"groups": [{"a": ["0", "1"], "b": ["2", "3"], "c": ["4", "5"]}]}},
    "marital": {"type": "nominal", "hierarchy": {"groups": [{"not alone": ["2", "3", "4"]}]}},
}
OPTIMA = {
    (0.0, "lm"): (0, 4, 1, 2, 1), (0.0, "entropy"): (0, 4, 0, 2, 2), (0.0, "discernibility"): (0, 4, 0, 2, 2),
    (0.0, "height"): (0, 4, 0, 2, 2), (0.05, "lm"): (0, 3, 2, 0, 1), (0.05, "entropy"): (0, 1, 1, 2, 2),
    (0.05, "discernibility"): (1, 1, 1, 2, 2), (0.05, "height"): (0, 4, 2, 0, 0),
}  # fmt: skip


def survey() -> mw.Block:
    data = mw.read(REFERENCE / "categorical_survey.csv", variables=DECLARED)
    values = data.matrix(KEYS)
    return mw.Block(values, np.isnan(values), tuple(data[name].variable for name in KEYS))


def chosen(masked: mw.Masked) -> tuple[int, ...]:
    return tuple(int(each.split()[1]) for each in str(masked.notes["levels"]).split(", "))


def protected(block: mw.Block, **params: Any) -> mw.Masked:
    return GENERALISATION.protect(block, GeneralisationParams(**params), np.random.default_rng(1))


@pytest.mark.parametrize("name", COLUMNS)
def test_every_node_of_the_published_lattice(name: Any) -> None:
    block = survey()
    keys, rows = keys_and_rows(block, range(5), {})
    criteria = Criteria(5, None, (), None, rows.of_leaf)
    evaluator = Evaluator(keys, rows, criteria, loss_of(name, keys, block.n, [1.0] * 5), block.n)
    with (REFERENCE / "categorical_lattice_k5.csv").open(encoding="utf-8") as file:
        nodes = list(csv.DictReader(file))
    assert len(nodes) == Lattice([len(key.levels) for key in keys]).count == 270
    for known in nodes:
        node = tuple(int(known[key]) for key in KEYS)
        assert evaluator.evaluate(node).loss == pytest.approx(float(known[COLUMNS[name]]), rel=1e-8, abs=1e-8)
        classes = evaluator.rows_on(node)
        assert classes.counts[evaluator.criteria.too_small(classes)].sum() == int(known["suppressed_k5"])


@pytest.mark.parametrize(("limit", "loss"), OPTIMA)
def test_published_optima(limit: float, loss: str) -> None:
    masked = protected(survey(), k=5, suppression_limit=limit, loss=loss)
    assert chosen(masked) == OPTIMA[limit, loss]
    assert masked.notes["records_suppressed"] == (
        0 if not limit else {"lm": 131, "entropy": 92, "discernibility": 32, "height": 25}[loss]
    )


def random_block(seed: int, n: int, keys: int, holes: float = 0.0) -> mw.Block:
    """Keys with random hierarchies; up to a few hundred nodes."""
    rng = np.random.default_rng(seed)
    columns, variables = [], []
    for j in range(keys):
        leaves = int(rng.integers(2, 9))
        of = np.arange(leaves)
        levels = []
        for level in range(1, int(rng.integers(1, 5))):
            joined = rng.integers(0, max(int(of.max()), 1), size=int(of.max()) + 1)
            of = np.unique(joined[of], return_inverse=True)[1]
            levels.append(mw.CategoryLevel(tuple(f"{level}.{i}" for i in range(int(of.max()) + 1)), tuple(of.tolist())))
        if rng.random() < 0.8:
            levels.append(mw.CategoryLevel(("*",), (0,) * leaves))
        names = tuple(map(str, range(leaves)))
        hierarchy = mw.CategoryHierarchy(names, tuple(levels)) if levels else None
        variables.append(mw.Variable(f"x{j}", "nominal", "quasi_identifier", categories=names, hierarchy=hierarchy))
        shares = rng.dirichlet(np.ones(leaves) / 2)
        columns.append(rng.choice(leaves, size=n, p=shares).astype(float))
    values = np.stack(columns, axis=1)
    values[rng.random(values.shape) < holes] = np.nan
    return mw.Block(values, np.isnan(values), tuple(variables))


def with_sensitive(block: mw.Block, seed: int) -> mw.Block:
    rng = np.random.default_rng(seed)
    values = rng.choice(4, size=block.n, p=[0.5, 0.3, 0.15, 0.05]).astype(float)
    return mw.Block(
        block.values, block.missing, block.variables, companions={"s": values},
        companion_variables={"s": mw.Variable("s", "ordinal", categories=("a", "b", "c", "d"))},
    )  # fmt: skip


ASKED: list[dict[str, Any]] = [
    {}, {"l": {"s": 2}}, {"l": {"s": {"entropy": 1.5}}}, {"l": {"s": {"recursive": 2, "c": 3}}}, {"t": {"s": 0.3}},
    {"t": {"s": {"most": 0.35, "distance": "equal"}}, "l": {"s": 2}},
]  # fmt: skip


def published_classes(block: mw.Block, masked: mw.Masked) -> dict[tuple[Any, ...], list[int]]:
    classes = defaultdict(list)
    for i in range(block.n):
        row = tuple(None if gone else value for value, gone in zip(masked.values[i], masked.missing[i], strict=True))
        classes[row].append(i)
    return classes


def counted_again(block: mw.Block, masked: mw.Masked, params: GeneralisationParams) -> None:
    """Recount what is enforced from its definition, in plain Python."""
    sensitive = block.companions.get("s")
    for members in published_classes(block, masked).values():
        assert len(members) >= params.k
        if sensitive is None:
            continue
        counts = Counter(sensitive[members].tolist())
        p = {value: count / len(members) for value, count in counts.items()}
        q = {value: count / block.n for value, count in Counter(sensitive.tolist()).items()}
        least = params.l.get("s")
        if isinstance(least, int):
            assert len(counts) >= least
        elif least is not None and least.entropy is not None:
            assert np.exp(-sum(share * np.log(share) for share in p.values())) >= least.entropy - 1e-9
        elif least is not None and least.recursive is not None:
            falling = sorted(counts.values(), reverse=True)
            assert falling[0] < least.c * sum(falling[least.recursive - 1 :])
        most = params.t.get("s")
        if most is not None:
            ordered = isinstance(most, float)
            gaps = [p.get(value, 0.0) - q[value] for value in sorted(q)]
            distance = np.abs(np.cumsum(gaps)).sum() / (len(q) - 1) if ordered else np.abs(gaps).sum() / 2
            assert distance <= (most if isinstance(most, float) else most.most) + 1e-9


def brute_force(block: mw.Block, params: GeneralisationParams) -> tuple[int, ...] | None:
    """Evaluate every node of the lattice, each from the leaves."""
    keys, rows = keys_and_rows(block, range(block.p), {})
    criteria = Criteria(params.k, None, tuple(bounds_of(block, params.l, params.t, rows.of_leaf)), None, rows.of_leaf)
    loss = loss_of(params.loss, keys, block.n, [1.0] * block.p)
    best = None
    for node in itertools.product(*(range(len(key.levels)) for key in keys)):
        found = Evaluator(keys, rows, criteria, loss, int(params.suppression_limit * block.n + 1e-9)).evaluate(node)
        if found.fulfils and (best is None or is_better(found, best)):
            best = found
    return None if best is None else best.node


@given(
    st.integers(0, 10**6), st.sampled_from([30, 150]), st.integers(1, 4), st.sampled_from([0.0, 0.03, 0.2]),
    st.sampled_from(["entropy", "lm", "discernibility", "height"]), st.sampled_from(ASKED), st.sampled_from([0.0, 0.1]),
)  # fmt: skip
def test_the_search_finds_what_brute_force_finds(
    seed: int, n: int, q: int, limit: float, loss: Any, asked: dict[str, Any], holes: float
) -> None:
    block = with_sensitive(random_block(seed, n, q, holes), seed)
    params = GeneralisationParams(k=3, suppression_limit=limit, loss=loss, **asked)
    expected = brute_force(block, params)
    if expected is None:
        with pytest.raises(mw.InputError, match=r"cannot be reached|no levels of the keys fulfil"):
            protected(block, **params.model_dump())
        return
    masked = GENERALISATION.protect(block, params, np.random.default_rng(1))
    assert chosen(masked) == expected
    counted_again(block, masked, params)
    assert masked.notes["records_suppressed"] <= limit * n


def test_a_beam_finds_a_node_that_fulfils_what_is_asked_for() -> None:
    block = random_block(7, 300, 4)
    keys, rows = keys_and_rows(block, range(4), {})
    loss = loss_of("lm", keys, block.n, [1.0] * 4)
    evaluator = Evaluator(keys, rows, Criteria(3, None, (), None, rows.of_leaf), loss, 15)
    found = _best_of_beam(evaluator, Lattice([len(key.levels) for key in keys]), lambda _: None)
    assert found is not None
    assert not found.is_certain
    assert found.best.fulfils
    assert found.best.node == brute_force(block, GeneralisationParams(k=3, loss="lm"))


def test_order_of_records_and_names_of_categories_do_not_matter() -> None:
    block = random_block(3, 200, 3)
    order = np.random.default_rng(1).permutation(block.n)
    turned = mw.Block(block.values[order], block.missing[order], block.variables)
    one, other = protected(block, k=3), protected(turned, k=3)
    assert chosen(one) == chosen(other)
    assert np.array_equal(one.missing[order], other.missing)


def test_levels_that_are_asked_for_and_importance() -> None:
    block = survey()
    masked = protected(block, k=5, levels={"age": (2, 3), "sex": 0}, loss="lm")
    assert chosen(masked)[0] == 0
    assert chosen(masked)[1] in (2, 3)
    dear = protected(block, k=5, suppression_limit=0, loss="lm", importance={"age": 50})
    assert chosen(dear)[1] < chosen(protected(block, k=5, suppression_limit=0, loss="lm"))[1]
    with pytest.raises(mw.InputError, match="levels: age has levels 0 to 4, and level 7 is requested"):
        protected(block, levels={"age": 7})
    with pytest.raises(mw.InputError, match="levels: aeg: no key of this step"):
        protected(block, levels={"aeg": 1})


def test_a_diversity_that_nobody_has_stops_by_name() -> None:
    block = with_sensitive(random_block(1, 50, 2), 1)
    with pytest.raises(mw.InputError, match="l of s: distinct diversity of 9 cannot be reached"):
        protected(block, l={"s": 9})


def test_bands_say_what_categories_stand_for() -> None:
    block = survey()
    masked = protected(block, k=5, suppression_limit=0.05, loss="lm")
    assert masked.variables is not None
    age = masked.variables[1]
    assert age.type == "ordinal"
    assert age.bands[0] == mw.Band(lower=0, upper=20)
    kept = ~masked.missing[:, 1]
    for value, code in zip(block.values[kept, 1], masked.values[kept, 1].astype(int), strict=True):
        assert age.bands[code].holds(float(value))
    assert masked.variables[0] is block.variables[0]


def frame(n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    town = rng.choice([f"t{i}" for i in range(12)], size=n, p=np.arange(1, 13) / 78)
    return pd.DataFrame(
        {
            "town": town,
            "region": [f"r{int(each[1:]) // 4}" for each in town],
            "age": rng.integers(0, 90, size=n),
            "job": rng.choice(list("abcd"), size=n),
        }
    )


TOWNS = {"groups": [{f"R{i}": [f"t{4 * i + j}" for j in range(4)] for i in range(3)}]}


def test_a_pipeline_in_memory_keeps_k_and_l() -> None:
    declared = {
        "town": {"role": "quasi_identifier", "hierarchy": TOWNS},
        "age": {"role": "quasi_identifier", "hierarchy": {"widths": [10, 30]}},
        "region": {"role": "identifier"},
        "job": {"role": "other", "release": "as is"},
    }
    masked = mw.protect(frame(), "generalisation", declared=declared, params={"k": 5, "l": {"job": 2}})
    keys = masked[["town", "age"]].astype(object).where(masked[["town", "age"]].notna(), "-").astype(str)
    groups = masked["job"].groupby([keys["town"], keys["age"]])
    assert groups.size().min() >= 5
    assert groups.nunique().min() >= 2


def test_an_emptied_key_is_not_given_away_by_its_published_aggregate() -> None:
    """Outliers lose their town; the region published beside it is the level on which the town would stand."""
    declared = {
        "town": {"role": "quasi_identifier", "hierarchy": TOWNS},
        "age": {"role": "quasi_identifier", "hierarchy": {"widths": [10, 30]}},
        "region": {"role": "other"},
        "job": {"role": "other", "release": "as is"},
    }
    params = {"k": 5, "levels": {"town": 1, "age": 1}, "suppression_limit": 0.5}
    data = frame(90)
    masked = mw.protect(data, "generalisation", declared=declared, params=params)
    gone = masked["town"].isna()
    assert gone.any()
    assert masked.loc[gone, "region"].isna().all()


def test_a_region_generalised_beside_its_towns_is_a_doubt() -> None:
    regions = {"groups": [{"land": ["r0", "r1"]}]}
    declared = {
        "town": {"role": "quasi_identifier"},
        "region": {"role": "quasi_identifier", "hierarchy": regions},
        "age": {"role": "identifier"},
        "job": {"role": "other", "release": "as is"},
    }
    params = {"k": 3, "levels": {"region": 1}}
    said = "region is published on level 1, and town on level 0, which tells its level 0"
    with pytest.raises(mw.OpenDoubts, match=said):
        mw.protect(frame(), "generalisation", declared=declared, params=params)
    declared["town"] = {"role": "other"}
    with pytest.raises(mw.OpenDoubts, match="it can be inferred from town"):
        mw.protect(frame(), "generalisation", declared=declared, params=params)


def test_a_search_without_a_result_says_what_fails_and_how_much_suppression_it_takes() -> None:
    """Four of forty are alone with their nurse or judge, and all who are ill have one disease."""
    job = ["clerk"] * 36 + ["nurse", "nurse", "judge", "judge"]
    data = pd.DataFrame({"job": job, "disease": ["flu", "cold"] * 18 + ["flu", "flu", "cold", "flu"]})
    declared = {"job": {"role": "quasi_identifier", "type": "nominal"}, "disease": {"type": "nominal", "role": "other"}}

    def failure(**params: object) -> str:
        with pytest.raises(mw.InputError) as error:
            mw.protect(data, "generalisation", variables=["job"], declared=declared, params=params, seed=1)
        return str(error.value)

    said = failure(k=3, l={"disease": 2})
    assert "4 of 40 records would have to be emptied (k = 3 fails in 4, l of disease fails in 2)" in said
    assert "takes a suppression_limit of 0.1" in said
    said = failure(k=5, suppression_limit=0.2)
    assert "(k = 5 fails in 4); all emptied ones together are a class too, and it fails" in said
    assert "takes a suppression_limit" not in said
