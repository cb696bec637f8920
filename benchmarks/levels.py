"""Figures of runs on households and persons, recounted by pandas; time and memory of a million persons.

    python benchmarks/levels.py [--households 6000]
    python benchmarks/levels.py --scale 1000000 [--only TEXT]

The survey of ``maskwright demo --levels``. Without `--scale`: violations on arrival and after each way to keep sums
across members (1 derive, 2 adjust, 3 whole households), constancy, totals in decimals and in binary64, the four counts
of k, loss, linkage, uniqueness, order. What pandas counts uses nothing of Maskwright. With `--scale` each form of file
is masked in a process of its own, beside a file of the same persons without households. Times are process CPU seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

import maskwright as mw
from maskwright.cli.main import main as maskwright
from maskwright.commands.demo.levels.files import write_levels_demo

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "maskwright" / "levels"))
from pandas_evaluator import HOUSEHOLD, flat_of_linked, read_flat, violations
from schematron_counts import schematron_counts

MEMBERS = ["wages", "selfe", "pens", "bene", "income"]
ROW = ["child_benefit", "capital", "tax", "total", "disp"]
OWN = ["child_benefit", "capital", "tax"]
AMOUNTS = [*ROW, *MEMBERS, "rent"]
K = 5
LINKAGE = [
    {"household_linkage": {"as": "by members"}},
    {"household_linkage": {"as": "by totals", "known": "row", "row": ROW}},
]
UNIQUE = [
    {"household_uniqueness": {"as": f"unique, age by {years} years", "row": ["region"], "members": ["sex", name]}}
    for years, name in ((1, "age"), (5, "age5"), (10, "age10"), (20, "age20"))
]


def steps(way, **params):
    """Steps of one of the three ways to keep sums across members."""
    named = {"method": "microaggregation", "params": {"k": K, **params}}
    if way == 3:
        return [
            named | {"variables": [*ROW, *MEMBERS], "unit": "household", "params": named["params"] | {"rare": "drop"}}
        ]
    if way == 1:
        return [named | {"variables": ROW}, named | {"variables": MEMBERS}]
    params = named["params"] | {"k_guarantee": "report"}
    row = {"variables": ROW, "params": params | {"totals": {"total": "adjust"}}}
    return [named | row, named | {"variables": MEMBERS, "params": params}]


def run(folder, form, name, **changes):
    """Run the pipeline of a form with other settings; its record and its released persons."""
    settings = yaml.safe_load((folder / f"{form}.yaml").read_text(encoding="utf-8"))
    settings.pop("thresholds", None)
    settings.pop("waive", None)
    data = f"{name}.csv" if form == "flat" else {"household": f"{name}_h.csv", "person": f"{name}_p.csv"}
    settings |= {"measure": ["sse"], "output": {"data": data, "key_map": f"{name}_keys.csv", "record": f"{name}.json"}}
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(settings | changes, sort_keys=False), encoding="utf-8")
    record = mw.run(folder / f"{name}.yaml").record
    if form == "flat":
        return record, read_flat(folder / f"{name}.csv")
    return record, flat_of_linked(folder / f"{name}_h.csv", folder / f"{name}_p.csv")


def counted_by_maskwright(folder, form):
    """Violations of each edit on arrival, as ``maskwright validate --json`` counts them."""
    data = {"flat": ["survey.csv"], "linked": ["households.csv", "persons.csv"], "nested": ["survey.xml"]}[form]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        maskwright(["validate", *(str(folder / name) for name in data), "--edits", str(folder / "edits.yaml"),
                    "--pipeline", str(folder / f"{form}.yaml"), "--json"])  # fmt: skip
    return {each["name"]: each["violations"] for each in json.loads(printed.getvalue())["edits"]}


def classes(flat):
    """The four counts of k: smallest class, and records in classes below k."""
    home, rows = flat["hhid"], flat.drop_duplicates("hhid").set_index("hhid")
    persons = home.groupby(flat[MEMBERS].agg("|".join, axis=1)).transform("nunique")
    members = flat[MEMBERS].agg("|".join, axis=1).groupby(home).agg(lambda each: "#".join(sorted(each)))
    whole = rows[ROW].agg("|".join, axis=1) + "@" + members
    counts = {"persons, in households": persons}
    for about, values in (("rows", rows[OWN].agg("|".join, axis=1)), ("with totals", rows[ROW].agg("|".join, axis=1)),
                          ("whole households", whole)):  # fmt: skip
        counts[about] = values.groupby(values).transform("size")
    return {about: (int(sizes.min()), int((sizes < K).sum())) for about, sizes in counts.items()}


def totals(flat, decimals=2):
    """Households whose total is not the sum: in whole units, and in binary64 in the order of the file."""
    rows = flat.drop_duplicates("hhid").set_index("hhid")
    numbers = flat[AMOUNTS].astype(float)
    units = (numbers * 10**decimals).round().astype(np.int64)
    exact = units["income"].groupby(flat["hhid"], sort=False).sum()
    own = rows[["child_benefit", "capital", "total"]].astype(float)
    parts = (own * 10**decimals).round().astype(np.int64)
    added = numbers["income"].groupby(flat["hhid"], sort=False).agg(lambda each: sum(each.tolist()))
    strict = added + own["child_benefit"] + own["capital"] != own["total"]
    return int((exact + parts["child_benefit"] + parts["capital"] != parts["total"]).sum()), int(strict.sum())


def losses(folder, name, flat, original):
    """Share of the squares lost, percent: of persons, of households."""
    keys = pd.read_csv(folder / f"{name}_keys.csv", dtype=str)
    masked = flat.set_index(["hhid", "pno"]).loc[list(zip(keys["new hhid"], keys["new pno"], strict=True))]
    before = original.iloc[keys["original_person"].astype(int) - 1]
    first = (~keys["new hhid"].duplicated()).to_numpy()
    found = []
    for names, rows in ((MEMBERS, slice(None)), (ROW, first)):
        old, new = (data[names].astype(float).to_numpy()[rows] for data in (before, masked))
        found.append(float((100 * ((old - new) ** 2).sum(axis=0) / ((old - old.mean(axis=0)) ** 2).sum(axis=0)).mean()))
    return found


def order_of(folder, name, flat, original):
    """Rank correlation of old and new places of the households, and old keys that the file holds."""
    keys = pd.read_csv(folder / f"{name}_keys.csv", dtype=str).drop_duplicates("new hhid").set_index("new hhid")
    place = original["hhid"].drop_duplicates().reset_index(drop=True)
    old = flat["hhid"].drop_duplicates().map(keys["hhid"]).map(pd.Series(place.index, place))
    cells = set(flat.to_numpy(dtype=str).ravel())
    return float(np.corrcoef(old.rank(), np.arange(len(old)))[0, 1]), len(cells & set(original["hhid"]))


def with_cents(folder, target):
    """Write the survey with all amounts in hundreds, so that they have two decimals and add up as before."""
    for name in ("households", "persons"):
        table = pd.read_csv(folder / f"{name}.csv", dtype=str)
        for amount in [each for each in AMOUNTS if each in table]:
            table[amount] = table[amount].astype(int).map(lambda cents: f"{cents // 100}.{cents % 100:02d}")
        table.to_csv(target / f"{name}.csv", index=False)
    for name in ("edits.yaml", "linked.yaml"):
        (target / name).write_text((folder / name).read_text(encoding="utf-8"), encoding="utf-8")


def figures(households, folder):
    """Print every figure of a survey of so many households."""
    write_levels_demo(folder, households)
    original = read_flat(folder / "survey.csv")
    arrival = {name: count for name, count in violations(original).items() if count}
    print(f"{households} households, {len(original)} persons\non arrival, by pandas: {arrival}")
    for form in ("flat", "linked", "nested"):
        found = {name: count for name, count in counted_by_maskwright(folder, form).items() if count}
        print(f"  {form}: {'the same' if found == arrival else found}")
    released = {}
    for way in (1, 2, 3):
        for partition in ("mdav", "refine"):
            if way == 2 and partition == "refine":
                continue
            name = f"way{way}_{partition}"
            own = {} if partition == "refine" else {"partition": partition}
            record, flat = run(folder, "linked", name, protect=steps(way, **own), measure=LINKAGE)
            released[name] = flat
            said(folder, name, record, flat, original)
    _, flat = run(folder, "flat", "flat", protect=steps(1))
    same = released["way1_refine"].equals(flat[released["way1_refine"].columns])
    constant = (flat.groupby("hhid")[list(HOUSEHOLD)].nunique(dropna=False) == 1).to_numpy().mean()
    print(f"flat file, way 1: as the linked ones: {same}; constant {100 * constant:g} %")
    bytes_ = (folder / "flat.csv").read_bytes()
    run(folder, "flat", "flat", protect=steps(1), execution={"workers": 4})
    print(f"  the same bytes with 4 workers: {bytes_ == (folder / 'flat.csv').read_bytes()}")
    nested(folder)
    unique(folder, original)
    cents = folder / "cents"
    cents.mkdir()
    with_cents(folder, cents)
    for way in (1, 2, 3):
        _, flat = run(cents, "linked", f"way{way}", protect=steps(way))
        found = sum(violations(flat).values())
        print(f"two decimals, way {way}: {found} violations; sums off: {totals(flat)} (exactly, in binary64)")


def nested(folder):
    """Mask the nested form under its Schematron rules, and print what an independent processor says of it."""
    settings = as_nested(folder) | {"protect": steps(1), "output": {"data": "nested_masked.xml"}}
    (folder / "nested_way1.yaml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    mw.run(folder / "nested_way1.yaml")
    found = schematron_counts(folder / "survey.sch", folder / "nested_masked.xml")
    failed, fired = sum(failed for failed, _ in found.values()), min(fired for _, fired in found.values())
    print(f"nested file, way 1, by lxml.isoschematron: {failed} failed asserts of {len(found)} patterns, each fired "
          f"{fired} times or more")  # fmt: skip


def as_nested(folder):
    """Pipeline of the nested form with the variables of the flat one, under all rules."""
    settings = yaml.safe_load((folder / "nested.yaml").read_text(encoding="utf-8"))
    flat = yaml.safe_load((folder / "flat.yaml").read_text(encoding="utf-8"))
    settings["data"]["variables"] = flat["data"]["variables"]
    return settings | {"edits": [{"schematron": "survey.sch"}], "measure": ["sse"]}


def said(folder, name, record, flat, original):
    """Print what became of the survey in one way."""
    found = sum(violations(flat).values())
    lost = losses(folder, name, flat, original)
    linked = [record["measures"][f"by {what}"]["value"] for what in ("members", "totals")]
    place, keys = order_of(folder, name, flat, original)
    print(f"{name}: {found} violations, {len(flat)} persons; sums off: {totals(flat)} (exactly, in binary64)")
    print(f"  loss of persons {lost[0]:.2f} %, of households {lost[1]:.2f} %; linked by members {linked[0]:.1f} %, by "
          f"totals {linked[1]:.1f} %; rank correlation of the order {place:+.4f}, old keys {keys}")  # fmt: skip
    counts = classes(flat)
    told = [(each["smallest"], each["below"]) for each in record["k_of_groups"]]
    print("  smallest class and below k, by pandas: " + "; ".join(f"{about} {each}" for about, each in counts.items()))
    print(f"  of the record: {'the same' if told == list(counts.values()) else told}")


def unique(folder, original):
    """Print the share of households that are unique on region, and sex and age of their members."""
    settings = yaml.safe_load((folder / "linked.yaml").read_text(encoding="utf-8"))
    persons = pd.read_csv(folder / "persons.csv", dtype=str)
    for years in (5, 10, 20):
        persons[f"age{years}"] = persons["age"].astype(int) // years
    persons.to_csv(folder / "persons_ages.csv", index=False)
    settings["data"]["levels"]["person"]["source"] = "persons_ages.csv"
    settings["data"]["variables"] |= {f"age{years}": {"role": "other"} for years in (5, 10, 20)}
    record, _ = run(folder, "linked", "unique", data=settings["data"], protect=steps(1), measure=UNIQUE)
    for label, found in record["measures"].items():
        if label.startswith("unique"):
            print(f"households {label}: {found['value']:.2f} %")
    print(f"persons unique on region, sex, age by 5 years: {_unique_persons(original):.3f} %")


def _unique_persons(original):
    keys = original["region"] + "|" + original["sex"] + "|" + (original["age"].astype(int) // 5).astype(str)
    return 100 * (keys.groupby(keys).transform("size") == 1).mean()


WORK = """
import json, resource, sys, time
import maskwright as mw
began = time.process_time()
record = mw.run(sys.argv[1]).record
print(json.dumps({
    "cpu": time.process_time() - began, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    "seconds": record["seconds"], "violations": sum(each["violations"] for each in record["edits"]),
}))
"""


def scale(persons, folder, only):
    """Print time and memory of masking so many persons, in each form of file and without households."""
    made = write_levels_demo(folder, round(persons * 0.46))
    print(f"{made.household_count} households, {made.person_count} persons")
    blocks = {"block_size": 20_000}
    settings = yaml.safe_load((folder / "flat.yaml").read_text(encoding="utf-8"))
    settings.pop("thresholds")
    settings.pop("waive")
    settings |= {"measure": ["sse"], "execution": blocks}
    linked = yaml.safe_load((folder / "linked.yaml").read_text(encoding="utf-8")) | settings
    linked.pop("thresholds")
    linked.pop("waive")
    linked["data"] = yaml.safe_load((folder / "linked.yaml").read_text(encoding="utf-8"))["data"]
    alone = settings | {"data": {"source": "persons.csv", "variables": linked["data"]["variables"]}}
    alone["data"]["variables"] = (
        {name: each for name, each in linked["data"]["variables"].items() if name not in HOUSEHOLD}
        | {"hhid": {"role": "identifier"}}
        | {name: {"role": "other"} for name in ("pno", "spouse", "mother")}
    )
    own = ("wages + selfe + pens + bene == income", "wages >= 0 and selfe >= 0 and pens >= 0 and bene >= 0")
    alone |= {"edits": list(own), "protect": steps(1)[1:]}
    told = {
        "persons alone": alone | {"output": {"data": "alone.csv"}},
        "flat, derived": settings | {"protect": steps(1), "output": {"data": "flat.csv"}},
        "nested, derived": as_nested(folder)
        | {"execution": blocks, "protect": steps(1), "output": {"data": "nested.xml"}},
        "linked, derived": linked | {"protect": steps(1), "output": _two("derived")},
        "linked, adjusted": linked | {"protect": steps(2), "output": _two("adjusted")},
        "linked, whole": linked | {"protect": steps(3), "output": _two("whole")},
    }
    for name, each in told.items():
        if only is not None and only not in name:
            continue
        (folder / "own.yaml").write_text(yaml.safe_dump(each, sort_keys=False), encoding="utf-8")
        done = subprocess.run([sys.executable, "-c", WORK, str(folder / "own.yaml")], capture_output=True, text=True,
                              check=False)  # fmt: skip
        if done.returncode:
            print(f"{name}: {done.stderr.strip().splitlines()[-1]}")
            continue
        found = json.loads(done.stdout)
        stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in found["seconds"].items())
        print(f"{name}: {found['cpu']:.0f} s CPU, {found['peak']:.2f} GB, {found['violations']} violations; {stages}")


def _two(name):
    return {"data": {"household": f"{name}_h.csv", "person": f"{name}_p.csv"}}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--households", type=int, default=6_000)
    parser.add_argument("--scale", type=int, metavar="PERSONS")
    parser.add_argument("--only", metavar="TEXT", help="with --scale: runs with this in their name")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        if asked.scale:
            scale(asked.scale, Path(temporary), asked.only)
        else:
            figures(asked.households, Path(temporary))
