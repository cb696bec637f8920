"""Before and after, and Risk: what they show is what the command line measures and the record of the run holds."""

import html
import json
import re
from collections import Counter

import numpy as np
import pytest


@pytest.fixture(scope="module")
def running(studio, office, command):
    """A studio on a folder in which the pipeline was run."""
    rows = (office / "people.csv").read_text("utf-8").splitlines()
    with_region = [f"{row},{'region' if not at else 'north' if at % 3 else 'south'}" for at, row in enumerate(rows)]
    (office / "people.csv").write_text("\n".join(with_region) + "\n", "utf-8")
    text = (office / "pipeline.yaml").read_text("utf-8").replace("edits:", "    region: {role: other}\nedits:")
    text = text.replace("measure: [sse]", "measure: [sse, interval_disclosure]")
    (office / "pipeline.yaml").write_text(text, "utf-8")
    running = studio(office / "pipeline.yaml")
    assert "There is no masked.csv yet" in running.view("/before-and-after")
    assert "keeps no record of its runs" in running.view("/risk")
    shown = html.unescape(running.act("/risk/keep", measure="interval_disclosure")["html"])
    sent = {key: re.search(f'name="{key}" value="([^>]*)">', shown)[1] for key in ("operations", "seen")}
    assert running.act("/pipeline/save", **sent)["say"].startswith("pipeline.yaml is saved")
    assert command(office, "run", "pipeline.yaml", "--quiet")[0] == 0
    return running


def part(running, path):
    shown = running.settled(f"/part/{path}")
    assert 'role="alert"' not in shown, shown
    return html.unescape(shown)


def cells(shown):
    """Rows of the tables, each a list of its cells."""
    rows = re.findall(r"<tr.*?</tr>", shown, re.DOTALL)
    return [[re.sub(r"<[^>]*>", "", each).strip() for each in re.findall(r"<t[dh].*?</t[dh]>", row, re.DOTALL)]
            for row in rows]  # fmt: skip


def six(value):
    """Six digits; nothing where the measure is not defined."""
    return "" if value is None else f"{value:.6g}"


def numbers(office, name, file):
    head, *rows = [line.split(",") for line in (office / file).read_text("utf-8").splitlines()]
    return np.array([float(row[head.index(name)]) for row in rows])


def test_figures_equal_those_of_the_command(running, office, command):
    shown = cells(part(running, "before-and-after/figures"))
    words = ("--measure", "pil", "--measure", "kolmogorov_smirnov", "--measure", "contingency_tables")
    code, said = command(office, "measure", "people.csv", "masked.csv", *words, "--pipeline", "pipeline.yaml", "--json")
    found = json.loads(said)["measures"]
    assert code == 0
    for label, each in found.items():
        assert [label, "all", six(each["value"]), each["unit"]] in shown
        for name, value in (each["parts"] | each["per_variable"]).items():
            assert six(value) in [row[2] for row in shown if row[1:2] == [name]]


def test_distributions_and_correlations_are_those_of_the_files(running, office):
    assert "/before-and-after?name=gross" in part(running, "before-and-after/every")
    shown = part(running, "before-and-after/one?name=gross")
    counted = [row for row in cells(shown) if row[0].isdigit()]
    both = {file: numbers(office, "gross", file) for file in ("people.csv", "masked.csv")}
    edges = np.linspace(min(map(np.min, both.values())), max(map(np.max, both.values())), 41)
    for column, file in ((1, "people.csv"), (2, "masked.csv")):
        assert [int(row[column]) for row in counted] == np.histogram(both[file], edges)[0].tolist()
    assert "5900" not in shown
    assert "5900 in" not in part(running, "before-and-after/one?name=gross&values=shown")
    shown = part(running, "before-and-after/one?name=region")
    assert "north" not in shown
    assert "north" in part(running, "before-and-after/one?name=region&values=shown")
    (row,) = [row for row in cells(part(running, "before-and-after/correlations")) if row[0] == "gross"]
    before, after = (np.corrcoef(numbers(office, "age", each), numbers(office, "gross", each))[0, 1] for each in both)
    assert row[1] == f"{after - before:+.3f}"


def test_a_variable_in_bands_is_listed_with_its_counts(studio, office, command, tmp_path):
    (tmp_path / "people.csv").write_bytes((office / "people.csv").read_bytes())
    (tmp_path / "bands.yaml").write_text(
        "maskwright: 1\ndata: {source: people.csv, variables: {age: {role: quasi_identifier}, region: {role: other}}}\n"
        "protect:\n- {method: recoding, variables: [age], params: {bands: 10}}\n"
        "- {method: microaggregation, variables: [gross, tax, net], params: {k: 5}}\n"
        "output: {data: banded.csv}\nseed: 7\n",
        "utf-8",
    )
    assert command(tmp_path, "run", "bands.yaml", "--quiet")[0] == 0
    head, *rows = [line.split(",") for line in (tmp_path / "banded.csv").read_text("utf-8").splitlines()]
    bands = Counter(row[head.index("age")] for row in rows)
    banded = studio(tmp_path / "bands.yaml")
    shown = part(banded, "before-and-after/every")
    assert f"{len(head)} variables are in both files" in shown
    assert ["age", "quasi_identifier (recoded into categories)", "", "", "0"] in cells(shown)
    shown = part(banded, "before-and-after/one?name=age")
    assert "60 in the original, 60 in the masked file" in shown
    counts = [int(row[1]) for row in cells(shown) if row[0].isdigit()]
    assert counts == sorted(bands.values(), reverse=True)
    assert not any(band in shown for band in bands)
    with_values = cells(part(banded, "before-and-after/one?name=age&values=shown"))[1:]
    assert {band: int(count) for band, count in with_values} == bands
    assert "kolmogorov" in part(banded, "before-and-after/figures")


def test_risks_are_those_of_the_record(running, office):
    run = json.loads((office / "run.json").read_text("utf-8"))
    single = run["per_record"]["interval_disclosure"]
    shown = part(running, "risk/records")
    worst = sorted(range(len(single)), key=lambda at: -single[at])[:20]
    rows = cells(shown)
    for at in worst:
        assert [str(at + 1), f"{single[at]:.4g}"] in rows
    assert sum(int(row[1]) for row in rows if " to " in row[0]) == len(single)
    for name, value in run["measures"]["interval_disclosure"]["per_variable"].items():
        assert [name, f"{value:.4g}"] in rows
    masked = (office / "masked.csv").read_text("utf-8").splitlines()
    with_values = cells(part(running, "risk/records?values=shown"))
    (first,) = [row for row in with_values if row[:1] == [str(worst[0] + 1)]]
    assert [each.rstrip("0").rstrip(".") if "." in each else each for each in first[2:]] == [
        each.rstrip("0").rstrip(".") if "." in each else each for each in masked[worst[0] + 1].split(",")
    ]
    assert "north" not in shown
    assert "age" in part(running, "risk/figures")
