"""The pipeline file: what is read, and every mistake with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maskwright.foundation.errors import PipelineError
from maskwright.foundation.processes.resources import processors
from maskwright.pipeline.reading import resolve_file
from maskwright.pipeline.resolved import RuleFile, RuleText

if TYPE_CHECKING:
    from pathlib import Path


def problems_of(path: Path, overrides=()):
    with pytest.raises(PipelineError) as caught:
        resolve_file(path, overrides)
    return caught.value.problems


def test_the_contract_file_is_read(folder) -> None:
    read = resolve_file(folder.pipeline())
    assert read.data.path == folder.path / "census16.xml"
    assert read.data.source.name == "xml"
    assert read.data.params.model_dump()["record"] == "Record"
    assert read.data.variables["V1"].role == "weight"
    first, second, third = read.edits
    assert isinstance(first, RuleFile)
    assert (first.reader.name, first.path) == ("schematron", folder.path / "census16.sch")
    assert isinstance(second, RuleText)
    assert second.rule == "V3 in [0, 7500]"
    assert (second.place.line, second.place.column) == (8, 5)
    assert third.rule == {"rule": "if V8 < 1115 then V13 <= V12", "name": "wages", "severity": "error"}
    one, two = read.steps
    assert (one.method.name, one.params.model_dump()["k"], one.planning.group_size) == ("microaggregation", 5, 3)
    assert one.partition.partition.name == "mdav"
    assert (two.method.name, two.partition) == ("noise", None)
    assert [(request.label, request.measure.name) for request in read.measures] == [
        ("pil", "pil"),
        ("linkage7", "distance_record_linkage"),
        ("sse", "sse"),
    ]
    assert read.measures[1].params.model_dump()["known"] == 7
    assert read.thresholds == {"pil": 50.0}
    assert list(read.output.paths)[-1] == "data"
    assert read.output.paths["report"] == folder.path / "report.html"
    assert (read.seed, read.execution.workers, read.execution.block_size) == (42, 2, None)
    assert read.settings["protect"][0]["params"]["k"] == 5
    assert read.text == folder.pipeline().read_text()


def test_categories_and_missing_codes_keep_their_text(folder) -> None:
    sex = resolve_file(folder.pipeline()).data.variables["sex"]
    assert (sex.categories, sex.missing_codes) == (("01", "no", "2"), ("9",))


def test_a_short_file_has_the_documented_defaults(folder) -> None:
    read = resolve_file(
        folder.pipeline(
            "maskwright: 1\ndata: {source: census16.xml}\nprotect: [{method: noise, params: }]\noutput: {data: m.csv}\n"
        )
    )
    assert (read.edits, read.measures, read.thresholds) == ((), (), {})
    assert (read.on_input_violation, read.seed, read.execution.at_once) == ("mask", None, 1)
    assert read.output.source.name == "csv"
    assert read.steps[0].planning.grouping == "all_edits"


@pytest.mark.parametrize(
    ("execution", "at_once"),
    [
        ("{}", 1), ("{workers: 3}", 3), ("{block_size: 50}", processors()), ("{workers: 1, block_size: 50}", 1),
        ("{engine: local, block_size: 50}", 1), ("{engine: local, workers: 3, block_size: 50}", 3),
    ],
)  # fmt: skip
def test_blocks_in_memory_are_masked_on_all_processors(folder, execution, at_once) -> None:
    read = resolve_file(
        folder.pipeline(
            "maskwright: 1\ndata: {source: census16.xml}\nprotect: [{method: noise, params: }]\n"
            f"output: {{data: m.csv}}\nexecution: {execution}\n"
        )
    )
    assert read.execution.at_once == at_once


def test_a_relative_path_is_relative_to_the_file_not_to_the_working_directory(folder, monkeypatch, tmp_path_factory):
    file = folder.pipeline()
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert resolve_file(file).output.data == folder.path / "masked.xml"


MISTAKES = [
    ("maskwright: 1", "maskwright: 2", 1, 13, "expected 1, not 2"),
    ("maskwright: 1\n", "", 1, 1, "the key 'maskwright' is missing"),
    ("measure:", "mesure:", 15, 1, "no key called 'mesure'; did you mean 'measure'?"),
    ("source: census16.xml", "source: census17.xml", 3, 11, "there is no data file 'census17.xml'"),
    ("source: census16.xml", "source: census16.dat", 3, 11, "no file format is known for 'census16.dat'"),
    ("source: census16.xml", "source: 5", 3, 11, "source: expected text, not 5"),
    ("source: census16.xml", "source: .", 3, 11, "no file format is known"),
    ("  record: Record", "  recrd: Record", 4, 3, "no key called 'recrd'; did you mean 'record'?"),
    ("  record: Record", "  delimiter: ';'", 4, 3, "'delimiter' is an option of csv files, and this is xml"),
    ("role: weight", "role: wieght", 5, 26, "V1.role: expected 'identifier', 'quasi_identifier'"),
    ("role: weight", "rolle: weight", 5, 20, "no key called 'rolle'; did you mean 'role'?"),
    ("role: weight", "min: 3, max: 2", 5, 19, "min is above max"),
    ("schematron: census16.sch", "schematron: census17.sch", 7, 17, "there is no rule file 'census17.sch'"),
    ("schematron: census16.sch", "schematrn: census16.sch", 7, 5, "did you mean 'schematron'?"),
    ("schematron: census16.sch", "census16.sch", 7, 5, "this is a file name where a rule is expected"),
    ("V3 in [0, 7500]", "V3 in [0, 7500", 8, 19, ""),
    ("V3 in [0, 7500]", "V3 ++* 2", 8, None, ""),
    ("V3 in [0, 7500]", "[V3]", 8, 5, "expected a rule as text"),
    ("severity: error", "severity: eror", 9, 65, "severity: expected 'error' or 'warning'"),
    ("name: wages", "nme: wages", 9, 42, "did you mean 'name'?"),
    ("on_input_violation: mask", "on_input_violation: msk", 10, 21, "on_input_violation: expected 'fail', 'mask'"),
    ("method: microaggregation", "method: microagregation", 12, 13, "did you mean 'microaggregation'?"),
    ("method: microaggregation", "methd: microaggregation", 12, 5, "did you mean 'method'?"),
    ("k: 5", "k: 1", 13, 17, "k: expected a number >= 2, not 1"),
    ("k: 5", "k: '5'", 13, 17, "k: expected a whole number, not the text '5'"),
    ("k: 5", "k: true", 13, 17, "k: expected a whole number, not true"),
    ("k: 5", "k: 5.5", 13, 17, "k: expected a whole number, not 5.5"),
    ("k: 5, ", "", 13, 13, "the parameter 'k' is missing"),
    ("k: 5", "k: 5, kk: 6", 13, 20, "no parameter of microaggregation called 'kk'; did you mean 'k'?"),
    ("k: 5", "k: 5, distance: euclidian", 13, 30, "expected 'euclidean' or 'manhattan'"),
    ("k: 5", "k: 5, tuning: {round: 2}", 13, 29, "no parameter called 'round'; did you mean 'rounds'?"),
    ("k: 5", "k: 5, tuning: {rounds: 0}", 13, 37, "tuning.rounds: expected a number >= 1, not 0"),
    ("k: 5", "k: 5, cutoffs: [1, x]", 13, 33, "cutoffs.item 2: expected a number, not the text 'x'"),
    ("k: 5", "k: 5, cutoffs: [1, 2, 3, 4]", 13, 29, "cutoffs: expected at most 3 items, not a list of 4"),
    ("k: 5", "k: 5, spread: 0", 13, 28, "spread: expected a number > 0, not 0"),
    ("partition: mdav", "partition: mdva", 13, 31, "no partition called 'mdva'; did you mean 'mdav'?"),
    ("partition: mdav", "partition: {refine: {passes: 0}}", 13, 49, "passes: expected a number >= 1, not 0"),
    ("partition: mdav", "partition: {refine: {pases: 1}}", 13, 41, "did you mean 'passes'?"),
    ("partition: mdav", "partition: [mdav]", 13, 31, "partition: expected text or a mapping of keys, not a list of 1"),
    ("partition: mdav", "partition: {mdav: 3}", 13, 38, "partition.mdav: expected a mapping of keys, not 3"),
    ("group_size: 3", "group_size: some", 13, 49, "group_size: expected a whole number or 'all', not the text 'some'"),
    ("group_size: 3", "group_size: 0", 13, 49, "group_size: expected a number >= 1 or 'all', not 0"),
    ("params: {k: 5, partition: mdav, group_size: 3}", "params: 3", 13, 13, "params: expected a mapping of keys"),
    ("  - method: noise", "  - method: noise\n    variables: [a, a]", 14, 5, "'variables' lists 'a' twice"),
    ("  - method: noise", "  - method: noise\n    groups: [[a], [a]]", 14, 5, "'groups' lists 'a' twice"),
    ("  - method: noise", "  - method: noise\n    groups: []", 15, 13, "groups: expected at least 1 item"),
    ("  - method: noise", "  - noise", 14, 5, "expected a mapping of keys, not the text 'noise'"),
    ("  - pil", "  - pill", 16, 5, "no measure called 'pill'; did you mean 'pil'?"),
    ("  - pil", "  - [pil]", 16, 5, "expected the name of a measure"),
    ("  - pil", "  - {pil: {}, as: x}", 16, 5, "expected the name of a measure"),
    ("  - sse", "  - pil", 18, 5, "two measures are called 'pil'"),
    ("known: 7", "knwn: 7", 17, 31, "no parameter called 'knwn'; did you mean 'known'?"),
    ("known: 7", "known: 0", 17, 38, "known: expected a number >= 1, not 0"),
    ("as: linkage7", "as: 7", 17, 45, "as: expected a label, not 7"),
    ("thresholds: {pil: 50}", "thresholds: {pli: 50}", 19, 14, "did you mean 'pil'?"),
    ("thresholds: {pil: 50}", "thresholds: {pil: low}", 19, 19, "pil: expected a number, not the text 'low'"),
    ("thresholds: {pil: 50}", "thresholds: {pil: 150}", 19, 19, "outside the measure's range, 0 to 100"),
    ("thresholds: {pil: 50}", "thresholds: [50]", 19, 13, "thresholds: expected {measure: bound}"),
    ("data: masked.xml", "dta: masked.xml", 20, 10, "no report called 'dta'; did you mean 'data'?"),
    ("data: masked.xml", "data: masked.dat", 20, 16, "no file format is known for 'masked.dat'"),
    ("data: masked.xml", "data: census16.xml", 20, 16, "output.data would overwrite the data"),
    ("data: masked.xml", "data: none/masked.xml", 20, 16, "there is no folder 'none'"),
    ("svrl: masked.svrl.xml", "svrl: census16.sch", 20, 34, "would overwrite the rules census16.sch"),
    ("svrl: masked.svrl.xml", "svrl: ./masked.xml", 20, 34, "output.svrl would overwrite output.data"),
    ("report: report.html", "report: report.pdf", 20, 59, "the file name must end in .html"),
    ("record: run.json", "record: run.txt", 20, 80, "the file name must end in .json"),
    ("public_record: about.json", "public_record: run.json", 20, 105, "would overwrite output.record"),
    ("seed: 42", "seed: -1", 21, 7, "seed: expected a number >= 0, not -1"),
    ("seed: 42", "seed: forty", 21, 7, "seed: expected a whole number, not the text 'forty'"),
    ("workers: 2", "workers: 0", 22, 22, "workers: expected a number >= 1, not 0"),
    ("workers: 2", "worker: 2", 22, 13, "no key called 'worker'; did you mean 'workers'?"),
]


@pytest.mark.parametrize(("old", "new", "line", "column", "message"), MISTAKES, ids=[new for _, new, *_ in MISTAKES])
def test_a_mistake_is_told_where_it_is(folder, old: str, new: str, line: int, column: int | None, message: str) -> None:
    found = problems_of(folder.changed(old, new))
    reporter = [
        problem
        for problem in found
        if message in f"{problem.message} {problem.hint or ''}"
        and problem.place.line == line
        and column in (None, problem.place.column)
    ]
    assert reporter, "\n".join(map(str, found))
    assert all(problem.place.file.endswith("pipeline.yaml") for problem in found)


def test_every_mistake_is_told_at_once_in_file_order(folder) -> None:
    text = folder.pipeline().read_text()
    for old, new in [
        ("census16.xml", "other.xml"),
        ("role: weight", "role: wieght"),
        ("k: 5", "k: 1"),
        ("method: noise", "method: noize"),
        ("- pil", "- pill"),
        ("seed: 42", "seed: x"),
    ]:
        text = text.replace(old, new)
    found = problems_of(folder.pipeline(text + "extra: 1\n"))
    assert [problem.place.line for problem in found] == [3, 5, 13, 14, 16, 19, 21, 23]


@pytest.mark.parametrize("missing", ["data", "protect", "output"])
def test_a_missing_section_is_told_once(folder, missing: str) -> None:
    sections = {
        "data": "data: {source: census16.xml}",
        "protect": "protect: [{method: noise}]",
        "output": "output: {data: m.xml}",
    }
    text = "maskwright: 1\n" + "\n".join(section for name, section in sections.items() if name != missing)
    (problem,) = problems_of(folder.pipeline(text))
    assert f"the key {missing!r} is missing" in problem.message


@pytest.mark.parametrize("empty", ["data", "protect", "output"])
def test_an_empty_section_is_a_mistake(folder, empty: str) -> None:
    sections = {"data": " {source: census16.xml}", "protect": " [{method: noise}]", "output": " {data: m.xml}"} | {
        empty: ""
    }
    assert problems_of(
        folder.pipeline("maskwright: 1\n" + "\n".join(f"{name}:{value}" for name, value in sections.items()))
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n", "5\n", "text\n"])
def test_a_file_without_keys_is_told(folder, text: str) -> None:
    assert problems_of(folder.pipeline(text))


def test_a_syntax_error_has_its_place(folder) -> None:
    (problem,) = problems_of(folder.changed("seed: 42", "seed: [42"))
    assert (problem.place.line, problem.place.text) == (22, "execution: {workers: 2}")
    assert "opened in line 21, column 7" in problem.message


def test_files_that_cannot_be_read(folder, tmp_path: Path) -> None:
    assert "no such pipeline file" in problems_of(tmp_path / "absent.yaml")[0].message
    assert "cannot be read" in problems_of(tmp_path)[0].message
    (tmp_path / "latin.yaml").write_bytes(b"maskwright: \xe9")
    assert "not UTF-8" in problems_of(tmp_path / "latin.yaml")[0].message
    (tmp_path / "large.yaml").write_bytes(b" " * 17_000_000)
    assert "too large" in problems_of(tmp_path / "large.yaml")[0].message


def test_data_need_not_be_there_for_a_plan_without_data(folder) -> None:
    (folder.path / "census16.xml").unlink()
    assert resolve_file(folder.pipeline(), check_data=False).data.path.name == "census16.xml"


def test_a_hard_link_to_the_data_is_the_data(folder) -> None:
    (folder.path / "link.xml").hardlink_to(folder.path / "census16.xml")
    (problem,) = problems_of(folder.changed("data: masked.xml", "data: link.xml"))
    assert "would overwrite the data" in problem.message


def test_the_format_can_be_named(folder) -> None:
    (folder.path / "micro.dat").write_text("a\n1\n")
    file = folder.changed("source: census16.xml\n  record: Record", "source: micro.dat\n  format: csv\n  delimiter: ;")
    read = resolve_file(file)
    assert (read.data.source.name, read.data.params.model_dump()["delimiter"]) == ("csv", ";")
    found = problems_of(folder.changed("  record: Record", "  format: cvs"))
    assert "did you mean 'csv'?" in found[0].message


def test_a_whole_number_may_be_written_with_an_exponent(folder) -> None:
    assert resolve_file(folder.changed("workers: 2", "block_size: 1e5")).execution.block_size == 100_000


def test_variable_names_that_look_like_numbers_are_text(folder) -> None:
    read = resolve_file(folder.changed("  - method: noise", "  - method: noise\n    variables: [012, no]"))
    assert read.steps[1].variables == ("012", "no")


PIECES = [
    "5",
    "-1",
    "text",
    "[]",
    "{}",
    "[1, [2]]",
    "{a: {b: [c]}}",
    "null",
    "true",
    "''",
    "1.5",
    "[null]",
    "{rule: }",
    "{as: 1}",
    "[{pil: 5}]",
    "[{method: microaggregation, params: [1]}]",
    "[{method: microaggregation, params: {k: 3, partition: }}]",
    "{data: [x]}",
    "[{method: [noise]}]",
    "{source: {a: 1}}",
    '"\\0"',
    "{V1: 5}",
    "[{schematron: [a]}]",
    "..",
    "[{}]",
]
SECTIONS = [
    "maskwright",
    "data",
    "edits",
    "on_input_violation",
    "protect",
    "measure",
    "thresholds",
    "output",
    "seed",
    "execution",
    "data.source",
    "data.format",
    "data.variables",
    "data.cluster",
    "data.record",
    "protect.0",
    "protect.0.params",
    "edits.0",
    "protect.0.params.partition",
    "protect.0.variables",
    "protect.0.groups",
    "measure.0",
    "measure.1",
    "output.data",
    "output.report",
    "edits.2.rule",
    "edits.2.name",
    "thresholds.pil",
]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(SECTIONS), st.sampled_from(PIECES)), min_size=1, max_size=3))
def test_whatever_stands_where_is_read_or_told(folder, changes) -> None:
    try:
        resolve_file(folder.pipeline(), [f"{section}={piece}" for section, piece in changes])
    except PipelineError as error:
        reporter = [problem.message for problem in error.problems]
    else:
        reporter = ["read"]
    assert reporter
    assert all(reporter)
