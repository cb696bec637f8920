"""What data of several levels promise beyond the figures of `levels.py`: leaks, projection, missing values, mistakes.

    python benchmarks/acceptance_of_levels.py [--households 1000] [--only TEXT]

Each line says what was looked at, the goal and the result, and whether it is met; the exit code is 1 where one is not.
The data and the judges that share no code with Maskwright (all completions of a household, SLSQP, lxml.isoschematron)
are those of the tests.

- leaks: 200 random suppressions of small households, every completion tried; households' cells in a whole run
- projection: 500 households moved onto a total, beside an independent solver; rounding of 2,000
- missing: functions of members, for up to 3 members of which each cell is true, false or missing
- mistakes: files that have one mistake each; a household of 2,000 members
- documents: `validate --document` beside isoschematron; documents that are refused, tests that are stopped
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import sys
import tempfile
import time
from importlib import util
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from lxml import etree, isoschematron

from maskwright.cli.main import main as maskwright
from maskwright.commands.demo.levels.files import write_levels_demo
from maskwright.masking.levels.complementary_suppression import complement_across
from maskwright.masking.levels.moving import moved_together

TESTS = Path(__file__).resolve().parents[1] / "tests" / "maskwright"
SEEDS = range(200)
EMPTIED = [("person", "income"), ("person", "sex"), ("person", "age"), ("household", "total"), ("household", "men")]


def of_tests(path):
    """Module of tests, whose data and judges are used."""
    spec = util.spec_from_file_location(f"of_tests_{Path(path).stem}", TESTS / path)
    module = util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def quietly(*arguments):
    """Exit code of a command, what it printed and what it said."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = maskwright(list(map(str, arguments)))
    return code, out.getvalue(), err.getvalue()


def leaks(folder, households):
    tests = of_tests("masking/levels/test_housemates.py")
    emptied = told = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        data = tests.drawn(rng, 5)
        linked, bound = tests.bound_levels(data)
        hidden = {}
        for level, name in EMPTIED:
            gone = rng.random(len(linked[level])) < rng.choice([0.0, 0.15])
            if gone.any():
                hidden[level, name] = gone
        found = complement_across(linked, hidden, bound)
        while found.cells:
            hidden = tests.everything(hidden, found)
            found = complement_across(linked, hidden, bound)
        values = tests.possible(data, linked, hidden)
        emptied += len(values)
        known = sum(found.known.values())
        told += abs(sum(len(each) == 1 for each in values.values()) - known)
    yield f"cells that follow, of {emptied:,} emptied in {len(SEEDS)} suppressions, but for doubts", 0, told, told == 0
    yield from leaks_of_a_run(folder, households)


def leaks_of_a_run(folder, households):
    write_levels_demo(folder, households)
    settings = yaml.safe_load((folder / "flat.yaml").read_text(encoding="utf-8"))
    for name in ("thresholds", "waive", "measure"):
        settings.pop(name, None)
    keys = ["region", "tenure"]
    step = {"method": "local_suppression", "variables": keys, "params": {"k": 20, "keys": keys}}
    settings["protect"] = [*settings["protect"], step]
    settings["edits"] = ["count(person) == size", "wages + selfe + pens + bene == income",
                         "sum(person.income) + child_benefit + capital == total", "total - tax == disp"]  # fmt: skip
    settings["output"] = {"data": "emptied.csv"}
    (folder / "emptied.yaml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    code, _, said = quietly("run", folder / "emptied.yaml", "--quiet")
    if code:
        yield f"a run that suppresses {', '.join(keys)}", "exit code 0", f"{code}: {said[:200]}", False
        return
    rows = pd.read_csv(folder / "emptied.csv", dtype=str)
    empty = rows.groupby("hhid")[keys].agg(lambda each: each.isna().sum())
    members = rows.groupby("hhid").size()
    shown = int(sum(((empty[name] > 0) & (empty[name] < members)).sum() for name in keys))
    cells = int((empty > 0).sum().sum())
    yield f"households of {cells} emptied cells that another row shows", 0, shown, shown == 0 and cells > 0
    settings["protect"][-1] = step | {"variables": ["size"], "params": {"k": 20, "keys": ["size"]}}
    (folder / "size.yaml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    code, _, said = quietly("run", folder / "size.yaml", "--quiet")
    yield "suppressing size, which counting rows gives back", "refused, exit code 2", f"exit code {code}", code == 2


def projection(folder, households):
    tests = of_tests("masking/levels/test_together.py")
    linked = tests.drawn(500, None)
    bound = tests.bound_to(linked, tests.SUM, *tests.SIGNS)
    moved = moved_together(linked, bound, tests.MOVING, tests.SCALE, 100, 1)
    starts = linked.starts("person")
    before, after = linked["person"].data["income"].values, moved.linked["person"].data["income"].values
    largest = 0.0
    for group in range(500):
        here = slice(starts[group], starts[group + 1])
        start = np.append(before[here], linked["household"].data["capital"].values[group])
        found = np.append(after[here], moved.linked["household"].data["capital"].values[group])
        total = linked["household"].data["total"].values[group]
        exact = tests._nearest(start, np.append(np.full(len(start) - 1, 3.0), 2.0), total)
        largest = max(largest, float(np.abs(found - exact).max()) / max(1.0, total))
    yield "largest difference from SLSQP, 500 households", "<= 1e-8", f"{largest:.1e}", largest <= 1e-8
    for places in (0, 2):
        yield from rounding(tests, places)
    named = tests.linked_of([[100], [0, 0], [50]], [0, 0, 0], [130, 40, 50])
    failing = moved_together(named, tests.bound_to(named, "sum(person.income) == total", "income >= 0"),
                             {"household": [], "person": ["income"]}, tests.SCALE, 100, 1)  # fmt: skip
    told = dict(failing.failing)
    yield "households that cannot be moved, by the edit's name", {"edit-1": 1}, told, told == {"edit-1": 1}


def rounding(tests, places):
    linked = tests.drawn(2_000, places)
    bound = tests.bound_to(linked, tests.SUM, *tests.SIGNS)
    moved = moved_together(linked, bound, tests.MOVING, tests.SCALE, 100, 1).linked
    exact = moved_together(tests.on_grid(linked, None), bound, tests.MOVING, tests.SCALE, 100, 1).linked
    scale, members = 10**places, moved["person"].data["income"].values
    sums = np.bincount(linked["person"].groups, np.rint(members * scale))
    sums += np.rint(moved["household"].data["capital"].values * scale)
    broken = int((sums != np.rint(linked["household"].data["total"].values * scale)).sum())
    step = max(
        float(np.abs(moved[level].data[name].values - exact[level].data[name].values).max()) * 2**places
        for level, name in (("person", "income"), ("household", "capital"))
    )
    yield f"sums broken by rounding to {places} decimals, 2,000 households", 0, broken, broken == 0
    yield f"largest move of a cell by rounding to {places} decimals, in steps", "< 1", f"{step:.2f}", step < 1


def missing(folder, households):
    tests = of_tests("edits/levels/test_members.py")
    rows = pd.DataFrame(
        [(group, member, 1, 2.0, x) for group, cells in enumerate(tests.GROUPS) for member, x in enumerate(cells)],
        columns=["hhid", "pno", "size", "total", "x"],
    )
    asked = wrong = 0
    for rule, plain in tests.RULES.items():
        holds, unknown = tests._verdicts(rows, rule)
        values = (-9.0, 0.0, 1.0, 9.0) if rule.startswith(("max", "min")) else (0.0, 1.0)
        for group, cells in enumerate(tests.GROUPS):
            filled = itertools.product(*(values if x is None else (x,) for x in cells))
            answers = {bool(plain(list(each))) for each in filled}
            asked += 1
            wrong += (unknown[group], holds[group]) != (len(answers) == 2, True in answers)
    yield f"verdicts unlike all completions, of {asked:,} ({len(tests.RULES)} rules)", 0, wrong, wrong == 0


def mistakes(folder, households):
    tests = of_tests("levels/test_mistakes.py")
    more = {
        "persons without a household": (
            tests.TWO_FILES, {"persons": [*tests.PERSONS, ("Q3x", 1, 5, 0)]}, "p.csv: record 4"
        ),
        "a key twice": (tests.TWO_FILES, {"households": [*tests.HOUSEHOLDS, ("Q1x", "S", 5)]}, "in record 3"),
        "a member's key twice": (tests.ONE_FILE, {"flat": [*tests.FLAT, ("Q1x", 1, "N", 31, 0, 0)]}, "in record 4"),
        "a key that is missing": (tests.TWO_FILES, {"households": [*tests.HOUSEHOLDS, ("", "S", 5)]}, "in record 3"),
        "007 and 7": (tests.TWO_FILES, {
            "households": [tests.HOUSEHOLDS[0], ("007", "N", 31), ("008", "S", 7)],
            "persons": [tests.PERSONS[0], (7, 1, 11, 0), (8, 1, 7, 0)],
        }, "written in different ways"),
        "a variable of two levels": (
            tests.ONE_FILE.replace("in: household,", "in: household, variables: [total, income],"), {}, "both claim"
        ),
    }  # fmt: skip
    for about, (pipeline, files, place) in more.items():
        own = folder / about.replace(" ", "_")
        own.mkdir()
        path = tests.write(own, pipeline, **files)
        before = sorted(own.iterdir())
        code, _, said = quietly("run", path)
        met = code == 2 and place in said and sorted(own.iterdir()) == before and "Q1x" not in said
        yield about, f"exit code 2, {place!r} named, nothing written", f"exit code {code}, {place in said}", met
    yield from nested_mistakes(folder)
    yield from large_household(tests, folder)


def nested_mistakes(folder):
    own = folder / "nested"
    own.mkdir()
    (own / "n.yaml").write_text(
        "maskwright: 1\ndata:\n  source: n.xml\n  levels:\n    household: {record: H, key: hhid}\n"
        "    person: {record: P, key: pno, in: household}\nprotect: [{method: rounding, variables: [x], params: "
        "{base: 4}}]\noutput: {data: out.xml}\n",
        encoding="utf-8",
    )
    one = "<H><hhid>1</hhid><P><pno>1</pno><x>3</x></P></H>\n"
    for about, text in (("a member outside its household", f"<S>{one}<P><pno>1</pno><x>2</x></P></S>"),
                        ("a household in two places", f"<S>{one}<H><hhid>2</hhid></H>{one}</S>")):  # fmt: skip
        (own / "n.xml").write_text(text, encoding="utf-8")
        code, _, said = quietly("run", own / "n.yaml")
        met = code == 2 and "n.xml" in said and not (own / "out.xml").exists()
        yield about, "exit code 2, file named, nothing written", f"exit code {code}, {'n.xml' in said}", met


def large_household(tests, folder):
    rows = [(f"H{number}", place, "N", 0, (number * 7919 + place * 104729) % 9973, 0)
            for number, size in enumerate([2000, *[3] * 300]) for place in range(1, size + 1)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=tests.FLAT[0])
    frame["total"] = frame.groupby("hhid")["income"].transform("sum")
    pipeline = tests.ONE_FILE.replace("count(person) >= 0", "sum(person.income) == total")
    pipeline = pipeline.replace(", total: {role: other}", "").replace(
        "rounding, variables: [income], params: {base: 4}",
        "microaggregation, variables: [income, total], params: {k: 3}",
    )
    path = tests.write(folder, pipeline)
    frame.to_csv(folder / "flat.csv", index=False)
    quietly("run", path, "--quiet")  # kernels are compiled at first
    start = time.process_time()
    code, _, _ = quietly("run", path, "--quiet")
    spent = time.process_time() - start
    yield (
        "a household of 2,000 members, CPU seconds",
        "<= 5, exit code 0",
        f"{spent:.1f}, {code}",
        spent <= 5 and not code,
    )


def documents(folder, households):
    tests = of_tests("commands/test_validate_document.py")
    items = "".join(f"<b k='{number}'>{'<p/>' * (number % 4)}</b>" for number in range(500))
    body = """<pattern id="x"><rule context="b[p]"><assert test="count(p) &lt;= 2">a</assert>
      <report test="@k mod 5 = 0">r</report></rule><rule context="b"><assert test="@k mod 2 = 0">c</assert></rule>
      </pattern><pattern><rule context="b/@k"><assert test=". &gt; 3">d</assert></rule></pattern>"""
    data, schema = tests.files(folder, body, f"<a>{items}</a>")
    svrl = folder / "out.svrl"
    code, printed, _ = quietly("validate", data, "--edits", schema, "--document", "--json", "--svrl", svrl)
    engine = isoschematron.Schematron(etree.parse(schema), store_report=True, validate_schema=False)
    engine.validate(etree.parse(data))
    kinds = ("failed-assert", "successful-report", "fired-rule", "active-pattern")
    ours, theirs = (
        [len(report.xpath(f"//svrl:{kind}", namespaces=tests.SVRL)) for kind in kinds]
        for report in (etree.parse(svrl), engine.validation_report)
    )
    met = ours == theirs and code == 1 and json.loads(printed)["violations"] == ours[0] + ours[1]
    yield "failed asserts, reports, fired rules and patterns in SVRL", theirs, ours, met
    for about, document in tests.HOSTILE.items():
        code = refused(tests, folder / "hostile.svrl", folder, document)
        yield f"refused before an engine: {about}", "exit code 2, no file", f"exit code {code}", code == 2
    with Path(tests.files(folder, tests.rule())[0]).open("r+b") as file:
        file.truncate(101 * 2**20)
    code, _, _ = quietly("validate", data, "--edits", schema, "--document", "--svrl", folder / "large.svrl")
    met = code == 2 and not (folder / "large.svrl").exists()
    yield "a document of 101 MB", "exit code 2, no file", f"exit code {code}", met
    counts = "count(//b[count(//b[count(//b[count(//b[@k]) = 1]) = 1]) = 1]) = 1"
    code = refused(tests, folder / "endless.svrl", folder, "<a>" + "<b/>" * 3000 + "</a>", counts)
    yield "an endless test, stopped after 3 seconds", "exit code 2, no file", f"exit code {code}", code == 2


def refused(tests, svrl, folder, document, test="@k"):
    """Exit code of validating a document; a report that was written counts as none."""
    data, schema = tests.files(folder, tests.rule(test), document)
    code, _, _ = quietly("validate", data, "--edits", schema, "--document", "--option", "max_seconds=3", "--svrl", svrl)
    return -1 if svrl.exists() else code


ABOUT = (leaks, projection, missing, mistakes, documents)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--households", type=int, default=1_000, help="of the run that is looked at for leaks")
    parser.add_argument("--only", metavar="TEXT", help="what has this in its name")
    asked = parser.parse_args()
    failed = 0
    for each in ABOUT:
        if asked.only is not None and asked.only not in each.__name__:
            continue
        print(each.__name__)
        with tempfile.TemporaryDirectory() as folder:
            for what, goal, result, met in each(Path(folder), asked.households):
                failed += not met
                print(f"  {'met' if met else 'MISSED':<6}  {what}: {result} (goal: {goal})", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
