"""Synthetic data, published and computed: ``python benchmarks/reproduction/synthetic.py``.

Every definition used is printed. A row is marked ``=`` when the published figure is within the tolerance printed with
the table, and ``x`` otherwise, with the reason below the table.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import maskwright as mw
from maskwright_builtin.methods.microaggregation.fuzzy_clustering import fuzzy_c_means

if TYPE_CHECKING:
    from collections.abc import Sequence

TESTS = Path(__file__).resolve().parents[2] / "tests"
DEFINITIONS = """\
File order (AFNLWGT, AGI, EMCONTRB, ...). S1: dependents 1 3 4 6 7 9 11 12 13, independents 2 8 10. S2: dependents
4 7 12 13, independents the other nine (which hold an exact equality, so that the design is singular).
PIL: mean of five parts on the dependents, density bandwidth of each column (range / 1000), in percent.
ERD: distance-based linkage, mean over cumulative scenarios of the first 1..7 dependents, masked to original.
ICN, ICD: interval disclosure by rank and by standard deviation. Pairing of records: identity.
No edits, no rounding: the methods alone."""

S1 = ((1, 3, 4, 6, 7, 9, 11, 12, 13), (2, 8, 10))
S2 = ((4, 7, 12, 13), (1, 2, 3, 5, 6, 8, 9, 10, 11))
RISKS = [
    {"distance_record_linkage": {"direction": "masked_to_original", "as": "ERD"}},
    {"interval_disclosure": {"by": "rank", "as": "ICN"}},
    {"interval_disclosure": {"by": "sd", "as": "ICD"}},
]
SCORE = {
    "pil": 0.5, "distance_record_linkage": 0.125, "probabilistic_record_linkage": 0.125, "interval_disclosure": 0.25,
    "linkage": "numeric",
}  # fmt: skip
"""Mean of PIL and DR = 0.5 (DBRL + PRL) / 2 + 0.5 ID, as in the degree project, section 2.4."""
EDITS_KNOWN = "edits known"
PIVOT = 1e-4
"""Least pivot of the degree project's elimination: with it, and with values as they are, its losses come out."""


def roles(data: pd.DataFrame, scenario: tuple[tuple[int, ...], tuple[int, ...]]) -> dict[str, list[str]]:
    """Names of the dependent and independent variables."""
    names = list(data.columns)
    return {
        role: [names[number - 1] for number in numbers]
        for role, numbers in zip(("dependent", "independent"), scenario, strict=True)
    }


def measured(data: pd.DataFrame, masked: pd.DataFrame, variables: list[str]) -> dict[str, float]:
    """PIL, its quantile part, ERD, ICN and ICD of the replaced variables."""
    found = mw.measure(data, masked, ["pil", *RISKS], variables=variables)
    return {name: each.value for name, each in found.items()}


def protected(data: pd.DataFrame, method: str, seed: int, params: dict[str, object]) -> pd.DataFrame:
    """Masked dependents; the other variables stay, as in the papers."""
    kept = [name for name in data.columns if name not in params["dependent"]]
    because = "figures of a paper: nothing of it is released"
    waived = [{"doubt": "method-warned", "step": 1, "because": because}]
    kinds = ("follows-from-published", "step-changed-nothing", "values-unchanged")
    waived += [{"doubt": kind, "variable": list(data.columns), "because": because} for kind in kinds]
    declared = {name: {"release": "as is"} for name in kept}
    return mw.protect(data, method, seed=seed, params=params, declared=declared, waive=waived)


def scored(
    data: pd.DataFrame, masked: pd.DataFrame, variables: list[str], edits: Sequence[str] = ()
) -> dict[str, float]:
    """PIL, DR and their mean, of the replaced variables; with edits also DR and SCORE of an intruder who knows them."""
    requests: list[dict[str, Any]] = [{"score": SCORE}]
    if edits:
        requests.append({"score": {**SCORE, "knows_edits": True, "as": EDITS_KNOWN}})
    found = mw.measure(data, masked, requests, edits=edits, variables=variables)
    scores = {"": found["score"], **({f", {EDITS_KNOWN}": found[EDITS_KNOWN]} if edits else {})}
    risks = {f"DR{who}": 2 * each.value - each.parts["pil"] for who, each in scores.items()}
    return {"PIL": found["score"].parts["pil"], **risks, **{f"SCORE{who}": each.value for who, each in scores.items()}}


def averaged(data, method, params, variables, seeds, of=measured):
    """Mean and standard deviation of the measures over seeds."""
    rows = pd.DataFrame([of(data, protected(data, method, seed, params), variables) for seed in range(seeds)])
    return rows.mean(), rows.std(ddof=1).fillna(0.0)


def regression_by_elimination(data, dependent, independent, c, seed, pivot=PIVOT):
    """Fuzzy c-regression with the generalised inverse of the degree project, section 2.6, on values as they are."""
    rng = np.random.default_rng(seed)
    x, result = data[independent].to_numpy(), data.copy()
    design = np.column_stack([np.ones(len(x)), x])
    for name in dependent:
        y = data[name].to_numpy()
        points = np.column_stack([x, y])
        points = (points - points.mean(axis=0)) / points.std(axis=0)
        first = points[rng.choice(len(points), c, replace=False)]
        centroids = fuzzy_c_means(points, first, m=1.5, tolerance=1e-4, max_iterations=50).centroids
        memberships = _memberships(((points[:, None] - centroids[None]) ** 2).sum(axis=2))
        for _ in range(30):
            models = []
            for weights in memberships.T**1.5:
                weighted = (design * weights[:, None]).T
                models.append(inverse_by_elimination(weighted @ design, pivot) @ (weighted @ y))
            fitted = design @ np.array(models).T
            before, memberships = memberships, _memberships((y[:, None] - fitted) ** 2)
            if np.abs(memberships - before).max() < 1e-4:
                break
        result[name] = fitted[np.arange(len(y)), memberships.argmax(axis=1)]
    return result


def _memberships(squares):
    squares = np.maximum(squares, 1e-100)
    relative = (squares / squares.min(axis=1, keepdims=True)) ** -2.0
    return relative / relative.sum(axis=1, keepdims=True)


def inverse_by_elimination(matrix, pivot):
    """1-inverse of a square matrix: the inverse of a submatrix of full rank, the first usable pivot in each row."""
    n = len(matrix)
    work, used = np.eye(n), np.full(n, -1)
    for row, values in enumerate(matrix):
        products = values @ work
        usable = np.flatnonzero((used < 0) & (np.abs(products) > pivot))
        if not len(usable):
            continue
        column = usable[0]
        used[column] = row
        work[:, column] /= products[column]
        others = np.arange(n) != column
        work[:, others] -= np.outer(work[:, column], products[others])
    result = np.zeros((n, n))
    inside = used >= 0
    result[np.ix_(inside, used[inside])] = work[np.ix_(inside, inside)]
    return result


def burridge_b_as_programmed(data, variables, independent, seed):
    """Variant B of the source program, kept to explain its table: fitted values plus noise of unit variance.

    For data in the ten thousands that is variant A.
    """
    fitted = protected(data, "ipso", 1, {"variant": "A", "dependent": variables, "independent": independent})
    rng = np.random.default_rng(seed)
    design = np.column_stack([np.ones(len(data)), data[independent], data[variables]])
    noise = rng.standard_normal((len(data), len(variables)))
    noise -= design @ np.linalg.lstsq(design, noise, rcond=None)[0]
    return fitted.assign(**{name: fitted[name] + column for name, column in zip(variables, noise.T, strict=True)})


def ipso_table(data, published):
    print("\nIPSO (published: Cano, tables of S1 and S2; tolerance 1.0 on PIL)")
    print(f"{'':<4}{'variant':<16}{'published':>10}{'PIL':>8}{'sd':>6}{'ERD':>7}{'ICN':>7}{'ICD':>7}")
    for scenario, numbers in (("S1", S1), ("S2", S2)):
        own = roles(data, numbers)
        cases = [("A", 1), ("B", 10), ("C", 10)]
        for variant, seeds in cases:
            mean, spread = averaged(data, "ipso", {"variant": variant, **own}, own["dependent"], seeds)
            _row(scenario, f"IPSO-{variant}", published.get((scenario, f"IPSO-{variant}")), mean, spread)
        legacy = measured(data, burridge_b_as_programmed(data, **_named(own), seed=1), own["dependent"])
        _row(scenario, "B as programmed", published.get((scenario, "IPSO-B")), pd.Series(legacy), pd.Series(legacy) * 0)
    print(
        "  x: alphabetical order with the last column's bandwidth comes within 1.04 (48.14 and 10.56 in S1) but not in"
    )
    print(
        "     S2 (52.81): a detail of the program behind these rows is unknown. B equals A there because its noise has"
    )
    print("     unit variance.")


def _named(own):
    return {"variables": own["dependent"], "independent": own["independent"]}


def _row(scenario, name, published, mean, spread):
    mark = " " if published is None else ("=" if abs(published - mean["pil"]) <= 1.0 else "x")
    shown = "" if published is None else f"{published:.2f}"
    figures = "".join(f"{mean[each]:7.2f}" for each in ("ERD", "ICN", "ICD"))
    print(f"{scenario:<4}{name:<16}{shown:>10}{mean['pil']:8.2f}{spread['pil']:6.2f}{figures} {mark}")


def regression_table(data, published, seeds):
    print(f"\nFuzzy c-regression, per variable, m = 1.5 (published: FCRM, table III; mean of {seeds} starts;")
    print("tolerance 3.0 on PIL, 4.0 for c = 2)")
    print(f"{'':<4}{'c':>4}{'published':>10}{'PIL':>8}{'sd':>6}{'ERD':>7}{'ICN':>7}{'ICD':>7}")
    for scenario, numbers, counts in (("S1", S1, range(2, 16)), ("S2", S2, (2, 4, 5, 8, 10, 20, 45))):
        own = roles(data, numbers)
        for c in counts:
            mean, spread = averaged(data, "fuzzy_c_regression", {"c": c, **own}, own["dependent"], seeds)
            target = published.get((scenario, "FCRM", c))
            mark = "=" if target is not None and abs(target - mean["pil"]) <= (4 if c == 2 else 3) else "x"
            figures = "".join(f"{mean[each]:7.2f}" for each in ("ERD", "ICN", "ICD"))
            print(f"{scenario:<4}{c:4}{target or np.nan:10.2f}{mean['pil']:8.2f}{spread['pil']:6.2f}{figures} {mark}")
    print("  x in S2: X'DX is singular there, and the project's elimination breaks down (its c = 2 is worse than plain")
    print("     regression, 56.1), as does the same elimination here. A stable solver loses far less:")
    own = roles(data, S2)
    for c in (2, 4, 10, 26):
        broken = [
            measured(data, regression_by_elimination(data, **own, c=c, seed=seed), own["dependent"])["pil"]
            for seed in range(seeds)
        ]
        print(f"     c = {c}: {np.mean(broken):.1f} by elimination, published {published.get(('S2', 'FCRM', c)):.1f}")


def beyond_table(data):
    print("\nFuzzy c-regression beyond the paper (S1, c = 8): label and residuals, and what they do to the risk")
    print(f"{'label':<10}{'residuals':<12}{'PIL':>8}{'ERD':>7}{'ICN':>7}{'ICD':>7}")
    own = roles(data, S1)
    for label in ("nearest", "draw"):
        for residuals in ("none", "resample"):
            params = {"c": 8, "label": label, "residuals": residuals, **own}
            mean, _ = averaged(data, "fuzzy_c_regression", params, own["dependent"], 3)
            figures = "".join(f"{mean[each]:7.2f}" for each in ("ERD", "ICN", "ICD"))
            print(f"{label:<10}{residuals:<12}{mean['pil']:8.2f}{figures}")


def single_dependents_table(data, published):
    print(
        "\nFuzzy c-regression S3: one dependent at a time, the next n variables (cyclic) independent, mean over the 13;"
    )
    print("PIL as mean of its three parts for one variable. Trend reproduced, level 3 to 9 points low (tolerance 3.0).")
    print("Dependents that the independents determine (the exact equality) are refused by Maskwright and left out.")
    print(f"{'c':>4}{'n':>4}{'published':>10}{'PIL':>8}{'left out':>10}")
    names = list(data.columns)
    for c in (2, 4):
        for n in (1, 4, 8, 12):
            losses, refused = [], 0
            for position, name in enumerate(names):
                independent = [names[(position + step) % 13] for step in range(1, n + 1)]
                params = {"c": c, "dependent": [name], "independent": independent}
                try:
                    masked = protected(data, "fuzzy_c_regression", 1, params)
                except mw.InputError:
                    refused += 1
                    continue
                losses.append(mw.measure(data, masked, ["pil"], variables=[name])["pil"].value)
            target = published.get((c, n), np.nan)
            mark = "=" if abs(target - np.mean(losses)) <= 3.0 else "x"
            print(f"{c:4}{n:4}{target:10.2f}{np.mean(losses):8.2f}{refused:10} {mark}")


def hybrid_table(data):
    print("\nMicroHybrid, S1, one seed: the data become synthetic as k grows (definitions, section 5.2)")
    print(f"{'k':>5}{'PIL':>8}{'ERD':>7}{'ICD':>7}{'third moments':>15}")
    own = roles(data, S1)
    for k in (22, 30, 50, 100, 200, 540, 1080):
        masked = protected(data, "micro_hybrid", 1, {"k": k, **own})
        found = measured(data, masked, own["dependent"])
        old, new = (each[own["dependent"]] - each[own["dependent"]].mean() for each in (data, masked))
        change = np.median(np.abs((new**3).mean() / (old**3).mean() - 1))
        print(f"{k:5}{found['pil']:8.2f}{found['ERD']:7.2f}{found['ICD']:7.2f}{change:15.2f}")
    print("  third moments: median relative change over the dependents")


def main():
    parser = argparse.ArgumentParser(description="Published and computed figures of synthetic data.")
    parser.add_argument("--starts", type=int, default=3)
    given = parser.parse_args()
    data = pd.read_csv(TESTS / "reference" / "census.csv").astype(float)
    table = pd.read_csv(TESTS / "golden" / "fcrm_and_ipso_published.csv", comment="#")
    regression = {(row.scenario, row.method, row.c): row.PIL for row in table.dropna(subset="c").itertuples()}
    ipso = {(row.scenario, row.method): row.PIL for row in table[table["c"].isna()].itertuples()}
    third = pd.read_csv(TESTS / "golden" / "fcrm_s3_published.csv", comment="#")
    print(DEFINITIONS)
    ipso_table(data, ipso)
    regression_table(data, regression, given.starts)
    beyond_table(data)
    single_dependents_table(data, {(row.c, row.n_independent): row.PIL for row in third.itertuples()})
    hybrid_table(data)


if __name__ == "__main__":
    main()
