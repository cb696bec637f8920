"""Runs what has compiled kernels once, on a few records, so that their machine code is in the cache.

``python tests/compile_kernels.py partitions`` and ``... others`` share no large kernel: two processes may run them side
by side. The tests start both before their own processes, which would else compile the same kernels, each for itself.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import maskwright as mw
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request
from maskwright.data.frame_libraries import taken_in
from maskwright.data.number_text import MANY_CELLS
from maskwright_builtin.key_counts.frequencies import count_keys, individual_risk
from maskwright_builtin.methods.microaggregation.fuzzy_clustering import fuzzy_c_means
from maskwright_builtin.numerics.ordering import WORTH_COMPILING, stable_order
from maskwright_builtin.partitions.mdav import lookahead

RNG = np.random.default_rng(20261121)
DATA = pd.DataFrame(RNG.integers(1, 100, (60, 4)).astype(float), columns=list("abcd"))
MASKED = DATA + RNG.integers(-2, 3, DATA.shape)


def microaggregate(partition: str | dict[str, Any], **params: Any) -> None:
    """One run with a partition."""
    mw.protect(DATA, "microaggregation", seed=1, params={"k": 3, "partition": partition, **params})


def partitions() -> None:
    """MDAV and what builds on it."""
    for name in ("mdav", "mu_approx", "refine", "variable_size_mdav"):
        microaggregate(name)
    microaggregate({"refine": {"start": "kd_cut"}})
    microaggregate("univariate", group_size=1)
    mw.measure(DATA, MASKED, ["microaggregation_gap"])
    made_ahead()


def made_ahead() -> None:
    """Searches of MDAV that only pay in larger files."""
    values = RNG.normal(size=(2500, 10))
    variables = tuple(mw.Variable(f"x{number}") for number in range(10))
    block = mw.Block(values, np.zeros(values.shape, bool), variables, center=np.zeros(10), scale=np.ones(10))
    mdav = mw.find_partition("mdav")
    kept = lookahead.FEW_LEAVES, lookahead.CALL
    lookahead.FEW_LEAVES, lookahead.CALL = 0, -(10**9)
    mdav.cluster(block, 2, mdav.params(), RNG)
    lookahead.FEW_LEAVES, lookahead.CALL = kept


def categories() -> None:
    """Methods that recode, empty or exchange categories; whether this file could be released does not matter."""
    letters = np.array(list("pqrs"))[RNG.integers(0, 4, (60, 3))]
    texts = taken_in(pd.DataFrame(letters, columns=list("abc")).assign(d=np.arange(60) % 4)).data
    keys = {name: {"type": "nominal", "role": "quasi_identifier"} for name in "abc"}
    for method, params in (
        ("generalisation", {"k": 3, "suppression_limit": 1, "l": {"c": 2}}),
        ("local_suppression", {"k": 3}),
        ("local_suppression", {"k": 3, "count": "wildcard"}),
        ("pram", {"retain": 0.5}),
        ("pram", {"joint": True, "retain": 0.5}),
        ("targeted_swapping", {"geography": ["a"], "risk_variables": ["b"], "profiles": [[]]}),
    ):
        names = ["a"] if method == "targeted_swapping" else ["a", "b"]
        mask_request(
            masking_request(texts, method, seed=1, params=params, variables=names, declared=keys), is_released=False
        )
    numbers = {name: {"type": "integer", "role": "quasi_identifier"} for name in "ab"}
    asked = masking_request(
        taken_in(DATA).data, "mondrian", seed=1, params={"k": 3}, variables=["a", "b"], declared=numbers
    )
    mask_request(asked, is_released=False)


def others() -> None:
    """Everything else: another partition, methods with kernels of their own, adjusting onto edits, measures."""
    microaggregate("maximum_distance")
    roles = {"dependent": ["a", "b"], "independent": ["c", "d"]}
    as_is = {name: {"release": "as is"} for name in roles["independent"]}
    mw.protect(DATA, "fuzzy_c_regression", seed=1, params={"c": 2, **roles}, declared=as_is)
    mw.protect(DATA, "fuzzy_microaggregation", seed=1, params={"k": 3})
    for m in (1.5, 2.0):
        fuzzy_c_means(DATA.to_numpy(), DATA.to_numpy()[:5], m=m, max_iterations=2, tolerance=0, float32=True)
    mw.protect(DATA, "cart_synthesis", seed=1)
    total = DATA.assign(total=DATA["a"] + DATA["b"])
    mw.protect(total, "additive_noise", seed=1, edits=["a + b == total", "c <= 200", "a * c <= 10000"])
    mw.protect(DATA, "rank_swapping", seed=1)
    stable_order(np.arange(float(WORTH_COMPILING)))
    codes = [np.array([0, 1, -1]), np.array([0, -1, -1])]
    count_keys(codes, "wildcard")
    count_keys(codes, "wildcard", households=np.array([0, 0, 1]))
    individual_risk(np.array([1]), np.array([0.5]))
    for name in (
        "distance_record_linkage",
        "interval_disclosure",
        "microaggregation_record_linkage",
        "order_statistics_attack",
        "rank_swapping_record_linkage",
    ):
        mw.measure(DATA, MASKED, [name])
    for measure in ("contingency_tables", {"propensity": {"model": "tree", "permutations": 2}}):
        mw.measure(DATA.astype(str), MASKED.astype(str), [measure])
    keys = {"keys": ["a", "b", "c"]}
    em = {"mixed_probabilistic_record_linkage": {**keys, "estimate": "em"}}
    mw.measure(DATA, MASKED, [{"mixed_record_linkage": keys}, em])
    mw.measure(DATA, MASKED, [{"suda": keys}, {"population_uniques": {**keys, "sampling_fraction": 0.1}}])


def cells() -> None:
    """Long columns of numbers, dates and quoted texts."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "long.csv"
        row = '1.5,2020-01-31,"a, b"\n'
        path.write_text("number,day,text\n" + row * (MANY_CELLS + 1), encoding="utf-8")
        mw.read(path)


def households() -> None:
    """Linkage of groups by the sets of their members."""
    levels = {"household": {"key": "a", "variables": ["b"]}, "person": {"key": "pno", "in": "household"}}
    persons = DATA.assign(a=DATA.index // 3, b=DATA.index // 3, pno=DATA.index % 3)
    both = [mw.linked_data(persons.assign(c=values), levels) for values in (DATA.c, MASKED.c)]
    mw.measure(*both, [{"household_linkage": {"known": "both", "row": ["b"], "members": ["c"]}}])
    mw.measure(*both, [{"household_uniqueness": {"row": ["b"], "members": ["c"]}}])


if __name__ == "__main__":
    for each in {"partitions": (partitions, categories, households), "others": (others, cells)}[sys.argv[1]]:
        each()
