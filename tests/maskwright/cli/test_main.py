"""The command line: exit codes, JSON contracts, messages for people, nothing written when something is wrong."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from functools import partialmethod
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from maskwright.cli.main import main
from maskwright.release.files import Release

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = '<?xml version="1.0"?>\n<Data>\n'
PIPELINE = """\
maskwright: 1
data:
  source: data.xml
  record: Record
edits:
  - gross = net + tax
protect:
  - method: microaggregation
    params: {k: 3}
measure: [sse]
output: {data: masked.xml, record: run.json}
seed: 1
"""
KEYS_OF_JSON = {*["ok", "records", "edits", "k", "measures", "doubts", "notices", "unchanged", "outputs", "seconds"]}


def _records(n: int = 12) -> str:
    return "".join(
        f"<Record><gross>{1000 + 10 * i}</gross><net>{900 + 9 * i}</net><tax>{100 + i}</tax></Record>\n"
        for i in range(n)
    )


def _write(folder: Path, data: str | None = None, pipeline: str = PIPELINE) -> Path:
    if data is None:
        data = HEADER + _records() + "</Data>\n"
    (folder / "data.xml").write_text(data, encoding="utf-8")
    (folder / "pipeline.yaml").write_text(pipeline, encoding="utf-8")
    return folder / "pipeline.yaml"


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "empty"),
        (HEADER + _records(), "data.xml"),
        ('<!DOCTYPE x [<!ENTITY e "boom">]>\n<Data>' + _records() + "</Data>", "DOCTYPE"),
        ("<Data>" + _records().replace("Record", "Person") + "</Data>", "'Record'"),
        (HEADER + _records(1).replace("1000", "NaN") + _records(20) + "</Data>", "gross"),
        (HEADER + _records(1).replace("1000", "inf") + _records(20) + "</Data>", "gross"),
        (HEADER + _records(1).replace("900", "secretword") + _records(20) + "</Data>", "net"),
        (HEADER + _records(2) + "</Data>", "k = 3 is larger than the number of records, 2"),
        (HEADER + "</Data>", "no record"),
    ],
    ids=["empty", "truncated", "doctype", "wrong element", "nan", "inf", "text", "k larger than n", "zero records"],
)
def test_bad_data_is_explained_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: str, message: str
) -> None:
    """Exit code 2, a sentence, no traceback, no value of a record."""
    assert main(["run", str(_write(tmp_path, data))]) == 2
    said = capsys.readouterr()
    assert message.lower() in said.err.lower()
    assert "Traceback" not in said.err
    assert "secretword" not in said.err
    assert said.out == ""
    assert _names(tmp_path) == ["data.xml", "pipeline.yaml"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed: 1", "seed: 1\nseed: 2", "already in line 12"),
        ("method: microaggregation", "method: microagregation", "did you mean 'microaggregation'"),
        ("{k: 3}", "{kk: 3}", "did you mean 'k'"),
        ("{k: 3}", "{k: 1}", "2"),
        ("{k: 3}", "{k: three}", "k"),
        ("{k: 3}", "{k: 3}\n    variables: [gros]", "did you mean 'gross'"),
        ("gross = net + tax", "gross = nett + tax", "did you mean 'net'"),
        ("gross = net + tax", "gross = net +", "pipeline.yaml:6"),
        ("gross = net + tax", "gross >= 5\n  - gross <= 4", "edit-1"),
        ("measure: [sse]", "measure: [ssee]", "did you mean 'sse'"),
        ("source: data.xml", "source: dat.xml", "dat.xml"),
        ("output: {data: masked.xml", "output: {data: data.xml", "data.xml"),
        ("output: {data: masked.xml", "output: {data: nowhere/masked.xml", "nowhere"),
    ],
)
def test_mistakes_in_a_pipeline_are_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    """Exit code 2, the nearest name, nothing written."""
    assert old in PIPELINE
    assert main(["run", str(_write(tmp_path, pipeline=PIPELINE.replace(old, new)))]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert _names(tmp_path) == ["data.xml", "pipeline.yaml"]


def test_every_mistake_is_reported_at_once_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two mistakes, two places, carets below the lines."""
    text = PIPELINE.replace("{k: 3}", "{k: 1}").replace("measure: [sse]", "measure: [sss]")
    assert main(["run", str(_write(tmp_path, pipeline=text))]) == 2
    said = capsys.readouterr().err
    assert "pipeline.yaml:9:" in said
    assert "pipeline.yaml:10:" in said
    assert said.count("^") >= 2


def test_run_json_is_as_contracted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Design section 9."""
    assert main(["run", str(_write(tmp_path)), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == KEYS_OF_JSON
    assert found["edits"] == [
        {"name": "edit-1", "kind": "linear", "kept_by": "construction", "violations": 0, "adjusted": 0}
    ]
    assert (found["ok"], found["records"]) == (True, 12)
    assert found["unchanged"].keys() == {"gross", "net", "tax"}
    assert all(0 <= share <= 100 for share in found["unchanged"].values())
    assert found["k"]["requested"] == 3
    assert set(found["measures"]["sse"]) >= {"value", "unit", "direction", "parts", "per_variable"}
    assert {name: Path(path).name for name, path in found["outputs"].items()} == {
        "data": "masked.xml", "record": "run.json",
    }  # fmt: skip
    assert all(seconds >= 0 for seconds in found["seconds"].values())


def test_a_run_that_a_doubt_of_the_plan_stops_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.csv").write_text("age,remark\n" + "".join(f"{20 + row * 7 % 20},none\n" for row in range(20)))
    text = "maskwright: 1\ndata: {source: d.csv}\nprotect: [{method: microaggregation, params: {k: 4}}]\n"
    (tmp_path / "p.yaml").write_text(text + "output: {data: m.csv}\n")
    assert main(["run", str(tmp_path / "p.yaml"), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert set(found) == KEYS_OF_JSON
    assert (found["ok"], found["outputs"]) == (False, {})
    assert [(each["doubt"], each["because"]) for each in found["doubts"]] == [("published-undeclared", None)]
    assert not (tmp_path / "m.csv").exists()


def test_a_refused_run_prints_json_and_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs that asked for JSON get it, with ok false."""
    path = _write(tmp_path, pipeline=PIPELINE + "thresholds: {sse: 0.0001}\n")
    assert main(["run", str(path), "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["ok"] is False
    assert "threshold" in said.err
    assert _names(tmp_path) == ["data.xml", "pipeline.yaml"]


def test_validate_json_has_what_is_contracted_and_no_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Design section 9: the fields, `checked_by` of each engine, at most 10 records, 1-based."""
    _write(tmp_path)
    yaml, schematron = tmp_path / "rules.yaml", tmp_path / "rules.sch"
    yaml.write_text("- {name: low, rule: net >= 100000}\n- tax >= 0\n")
    schematron.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern id="p"><rule context="Record">'
        '<assert test="string-length(net) &lt; 9">m</assert><assert test="net &gt; 0">m</assert></rule></pattern>'
        "</schema>"
    )
    command = ["validate", str(tmp_path / "data.xml"), "--edits", str(yaml), "--edits", str(schematron), "--json"]
    assert main(command) == 1
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"records", "ok", "violations", "edits"}
    assert (found["records"], found["ok"], found["violations"]) == (12, False, 12)
    fields = {"name", "kind", "checked_by", "violations", "unknown", "fired", "first_records"}
    assert all(fields <= set(edit) for edit in found["edits"])
    assert [edit["name"] for edit in found["edits"]] == ["low", "edit-2", "p", "p.2"]
    assert [edit["checked_by"] for edit in found["edits"]] == ["model", "model", "lxml", "model"]
    assert [edit["violations"] for edit in found["edits"]] == [12, 0, 0, 0]
    assert [edit["first_records"] for edit in found["edits"]] == [list(range(1, 11)), [], [], []]


def test_json_never_holds_a_value_of_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rules, numbers of records and counts are all that is told of data that break rules."""
    _write(tmp_path, HEADER + _records() + "<Record><gross>7654321</gross><net>1</net><tax>1</tax></Record></Data>")
    rules = tmp_path / "rules.yaml"
    rules.write_text("- gross = net + tax\n")
    data = str(tmp_path / "data.xml")
    for command in (
        ["validate", data, "--edits", str(rules)],
        ["localize", data, "--edits", str(rules)],
        ["edits", str(rules), "--data", data],
    ):
        for form in ([], ["--json"]):
            main([*command, *form])
            said = capsys.readouterr()
            assert said.out
            assert "7654321" not in said.out + said.err


def test_set_overrides_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--set a.b=c."""
    assert main(["run", str(_write(tmp_path)), "--json", "--set", "protect.0.params.k=4"]) == 0
    assert json.loads(capsys.readouterr().out)["k"]["requested"] == 4


def test_validate_json_and_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 when all hold, 1 when one does not, records 1-based; SVRL written and private."""
    _write(tmp_path)
    rules = tmp_path / "rules.yaml"
    rules.write_text("- {name: sum, rule: gross = net + tax}\n- {name: low, rule: net >= 918}\n")
    svrl = tmp_path / "out.svrl"
    data = str(tmp_path / "data.xml")
    assert main(["validate", data, "--edits", str(rules), "--record", "Record", "--json", "--svrl", str(svrl)]) == 1
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"records", "ok", "violations", "edits"}
    assert found["violations"] == 2
    low = found["edits"][1]
    assert set(low) >= {"name", "kind", "checked_by", "violations", "unknown", "fired", "first_records"}
    assert low["first_records"] == [1, 2]
    assert low["fired"] == 12
    assert svrl.stat().st_mode & 0o777 == 0o600
    rules.write_text("- gross = net + tax\n")
    assert main(["validate", data, "--edits", str(rules)]) == 0
    assert main(["validate", str(tmp_path / "none.xml"), "--edits", str(rules)]) == 2


def test_data_and_edits_of_a_pipeline_are_taken_where_none_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rules as text and of files beside it; a masked file, or one of each level, instead of the original."""
    _write(tmp_path)
    (tmp_path / "rules.yaml").write_text("- {name: low, rule: net >= 918}\n")
    pipeline = tmp_path / "p.yaml"
    pipeline.write_text(
        "maskwright: 1\ndata: {source: data.xml, record: Record}\nedits: [gross = net + tax, yaml: rules.yaml]\n"
        "protect: [{method: rounding, params: {base: 5}}]\noutput: {data: masked.xml}\n"
    )
    data, said = str(tmp_path / "data.xml"), []
    for words in (["--pipeline", str(pipeline)], [data, "--edits", str(pipeline), "--record", "Record"]):
        assert main(["validate", *words, "--json"]) == 1
        said.append(json.loads(capsys.readouterr().out))
    assert said[0] == said[1]
    assert {each["name"]: each["violations"] for each in said[0]["edits"]} == {"edit-1": 0, "low": 2}
    assert main(["localize", "--pipeline", str(pipeline), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["violating"] == 2
    assert main(["edits", str(pipeline)]) == 0
    assert main(["validate", data]) == 2
    assert "no edits are named: DATA --edits FILE, or --pipeline FILE" in capsys.readouterr().err


def test_validate_can_fail_on_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing cell makes a YAML edit unknown; --fail-on-unknown does not accept that."""
    data = HEADER + _records(5) + "<Record><gross>5</gross><net/><tax>1</tax></Record></Data>"
    _write(tmp_path, data)
    rules = tmp_path / "rules.yaml"
    rules.write_text("- gross = net + tax\n")
    command = ["validate", str(tmp_path / "data.xml"), "--edits", str(rules)]
    assert main(command) == 0
    assert main([*command, "--fail-on-unknown"]) == 1
    capsys.readouterr()


def test_measure_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Measures with unit, direction and parts; --set name.param=value."""
    _write(tmp_path)
    data = str(tmp_path / "data.xml")
    command = ["measure", data, data, "--measure", "pil", "--measure", "sse", "--set", "pil.step=10", "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)["measures"]
    assert found["pil"]["value"] == 0
    assert set(found) == {"pil", "sse"}
    for measure in found.values():
        assert set(measure) >= {"value", "unit", "direction", "parts", "per_variable"}
        assert measure["direction"] in ("lower", "higher", "none")
        assert isinstance(measure["parts"], dict)
        assert isinstance(measure["per_variable"], dict)
    assert main([*command[:-1], "--set", "pil.stepp=1"]) == 2
    assert "did you mean 'step'" in capsys.readouterr().err


@pytest.mark.parametrize("given", [[], ["--set", "k_anonymity.key=V1"], ["--set", "k_anonymity.keys=V1"]])
def test_measure_shows_how_a_list_is_given(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(tmp_path)
    data = str(tmp_path / "data.xml")
    assert main(["measure", data, data, "--measure", "k_anonymity", *given]) == 2
    assert "--set 'k_anonymity.keys=[region,sex,age]'" in capsys.readouterr().err


def test_plan_shows_who_keeps_each_edit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With and without data; nothing is written."""
    path = _write(tmp_path)
    assert main(["plan", str(path)]) == 0
    assert "edit-1" in capsys.readouterr().out
    assert main(["plan", str(path), "--json", "--no-data"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["edits"][0]["kept_by"] == "construction"
    assert plan["records"] is None
    assert _names(tmp_path) == ["data.xml", "pipeline.yaml"]


def test_edits_are_listed_and_classified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kind, text and place of each; counts with --data."""
    _write(tmp_path)
    rules = tmp_path / "rules.yaml"
    rules.write_text("- gross = net + tax\n- net in [0, 950]\n")
    assert main(["edits", str(rules), "--json", "--data", str(tmp_path / "data.xml")]) == 0
    described = json.loads(capsys.readouterr().out)
    assert set(described) == {"records", "edits", "analysis", "notes"}
    assert described["records"] == 12
    found = described["edits"]
    assert [edit["kind"] for edit in found] == ["linear", "range"]
    assert [edit["violations"] for edit in found] == [0, 6]
    assert [edit["satisfied"] for edit in found] == [12, 6]
    assert [edit["text"] for edit in found] == ["gross = net + tax", "net in [0, 950]"]
    assert [edit["place"].rsplit(":", 2)[1:] for edit in found] == [["1", "3"], ["2", "3"]]
    assert [edit["variables"] for edit in found] == [["gross", "net", "tax"], ["net"]]
    assert main(["edits", str(rules), "--json"]) == 0
    without = json.loads(capsys.readouterr().out)
    assert without["records"] is None
    assert [edit["violations"] for edit in without["edits"]] == [None, None]
    assert main(["edits", str(rules)]) == 0


def test_plugins_explain_schema_init(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The commands that need no data."""
    assert main(["plugins", "--json"]) == 0
    infos = json.loads(capsys.readouterr().out)["plugins"]
    assert {"name": "mdav", "kind": "partition", "status": "ok"}.items() <= next(
        info for info in infos if info["name"] == "mdav"
    ).items()
    kinds = {"method", "partition", "measure", "attack", "source", "rule_language", "report"}
    kinds |= {"rule_writer", "plan_check", "report_section", "action", "command", "engine", "aggregation", "constraint"}
    for info in infos:
        assert set(info) == {"name", "kind", "distribution", "version", "status", "error", "conflict"}
        assert info["kind"] in kinds
        assert (info["status"], info["error"]) == ("ok", None)
        assert main(["explain", info["name"]]) == 0
        assert info["name"] in capsys.readouterr().out
    assert main(["explain", "mdaw"]) == 2
    assert "mdav" in capsys.readouterr().err
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["type"] == "object"
    assert main(["init", str(tmp_path)]) == 0
    assert main(["init", str(tmp_path)]) == 2


def test_usage_errors_exit_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    """No command, an unknown command, a missing argument."""
    assert main([]) == 2
    for arguments in (["runn"], ["run"]):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 2
    capsys.readouterr()


def test_a_bug_is_exit_code_3_with_a_log_that_holds_no_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exception's text may hold a value: it is neither shown nor logged."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("value 4711 of Mrs Smith")

    monkeypatch.setattr("maskwright.commands.run.run", broken)
    assert main(["run", str(_write(tmp_path))]) == 3
    said = capsys.readouterr().err
    assert "4711" not in said
    log = Path(next(word.rstrip(";") for word in said.split() if ".log" in word))
    assert "4711" not in log.read_text()
    assert "RuntimeError" in log.read_text()
    log.unlink()


def test_one_record_is_refused_and_the_smallest_file_that_works_works(tmp_path: Path) -> None:
    """N = 1 < k; n = k is one group."""
    assert main(["run", str(_write(tmp_path, HEADER + _records(1) + "</Data>"))]) == 2
    assert main(["run", str(_write(tmp_path, HEADER + _records(3) + "</Data>")), "--quiet"]) == 0


IMPORTED = """
import sys
before = set(sys.modules)
from maskwright.cli.main import main
try:
    main({words})
except SystemExit:
    pass
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""


def imported_by(*words: str) -> set[str]:
    """Modules that a command imports in a process of its own, beyond those that Python starts with."""
    code = IMPORTED.format(words=list(words))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("words", ["--help", "--version", "run --help", "completion bash"])
def test_what_needs_no_data_imports_no_library(words: str) -> None:
    roots = {name.partition(".")[0] for name in imported_by(*words.split())}
    assert "argparse" in roots
    assert roots - sys.stdlib_module_names == {"maskwright"}


@pytest.mark.parametrize("words", ["--help", "--version", "run --help"])
def test_help_imports_the_parser_alone(words: str) -> None:
    """Of Maskwright nothing but the command line, of Python none of the modules that take long."""
    found = imported_by(*words.split())
    own = {name for name in found if name.startswith("maskwright.") and not name.startswith("maskwright.cli")}
    assert own == {"maskwright.foundation", "maskwright.foundation.counts", "maskwright.foundation.exit_codes"}
    assert not found & {"dataclasses", "inspect", "json", "logging", "multiprocessing", "socket", "tempfile"}


def test_checking_a_file_imports_neither_pandas_nor_numba() -> None:
    code = "import sys, maskwright.release.file_validation; print([m for m in ('pandas', 'numba') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_a_reader_who_has_gone_is_no_fault(tmp_path: Path) -> None:
    """``maskwright edits FILE | head -1``: no message, and not the exit code of violated edits."""
    rules = tmp_path / "rules.yaml"
    # More text than a pipe holds, of few rules.
    rules.write_text("".join(f"- {'x' * 1000}{i} >= 0\n" for i in range(200)))
    command = [sys.executable, "-m", "maskwright", "edits", str(rules)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait(timeout=120) == 0
    assert said == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer hits a full disk: exit code 2, one sentence, nothing left."""
    monkeypatch.setattr("maskwright.release.files.Release.temporary", partialmethod(_full, Release.temporary))
    assert main(["run", str(_write(tmp_path))]) == 2
    said = capsys.readouterr().err
    assert "No space left" in said
    assert _names(tmp_path) == ["data.xml", "pipeline.yaml"]


def _full(release: Release, temporary: Callable[[Release, str], Path], key: str) -> Path:
    """A temporary name that is a link to a device without room."""
    link = temporary(release, key)
    if key == "data" and link.exists() and not link.is_symlink():
        link.unlink()
        link.symlink_to("/dev/full")
    return link


def test_files_without_a_variable_in_common_are_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names and types of both, and what may be the reason; no values."""
    (tmp_path / "one.csv").write_text("x,y\n11,22\n33,44\n")
    (tmp_path / "other.csv").write_text("u,y\n11,no\n33,yes\n")
    assert main(["measure", str(tmp_path / "one.csv"), str(tmp_path / "other.csv"), "--measure", "pil"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "there is no variable to measure: none is numeric in both files" in said
    assert "The original has x, y; the masked file has u, y (nominal)" in said
    assert "are these two files of the same data" in said.lower()
    assert "33" not in said


def test_explain_puts_the_methods_own_parameters_first(capsys: pytest.CaptureFixture[str]) -> None:
    """The common ones are one sentence, and have a page of their own."""
    assert main(["explain", "rank_swapping"]) == 0
    said = capsys.readouterr().out
    assert "group_size (default" not in said
    assert said.index("  p (default") < said.index("Every method also takes group_size, grouping,")
    assert "see `maskwright explain steps`" in " ".join(said.split())
    assert main(["explain", "steps"]) == 0
    page = capsys.readouterr().out
    from maskwright.planning.model import PlanningParams

    assert all(f"  {name} (default" in page for name in PlanningParams.model_fields)
