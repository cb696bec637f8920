"""Phases, includes, abstract rules and patterns, diagnostics: what is written once is meant everywhere it is used."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree, isoschematron

import maskwright as mw
from maskwright.edits.languages.schematron.options import SchematronOptions
from maskwright.edits.languages.schematron.reader import read_schematron
from maskwright.foundation.errors import EditError

ISO = "http://purl.oclc.org/dsdl/schematron"


def written(folder: Path, body: str, attributes: str = "", name: str = "rules.sch") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'<schema xmlns="{ISO}" {attributes}>{body}</schema>')
    return path


XSLT = 'xmlns:xsl="http://www.w3.org/1999/XSL/Transform"'
PHASES = """
<phase id="release"><let name="limit" value="5"/><active pattern="a"/></phase>
<phase id="all-of-it"><let name="limit" value="7"/><active pattern="a"/><active pattern="b"/></phase>
<pattern id="a"><rule context="R"><assert test="V1 &lt; $limit">m</assert></rule></pattern>
<pattern id="b"><rule context="R"><assert test="V2 &lt; $limit">m</assert></rule></pattern>"""


@pytest.mark.parametrize(
    ("default", "phase", "names", "limit"),
    [
        ("", "release", ["a"], "5"),
        ("", "all-of-it", ["a", "b"], "7"),
        ('defaultPhase="release"', None, ["a"], "5"),
        ('defaultPhase="release"', "#DEFAULT", ["a"], "5"),
        ('defaultPhase="release"', "all-of-it", ["a", "b"], "7"),
    ],
)
def test_a_phase_chooses_patterns(
    tmp_path: Path, default: str, phase: str | None, names: list[str], limit: str
) -> None:
    edits = read_schematron(written(tmp_path, PHASES, default), SchematronOptions(phase=phase))
    assert [edit.name for edit in edits] == names
    assert all(limit in str(edit.parts) for edit in edits)
    assert any("phase" in note for note in edits.notes)


def test_without_a_phase_its_variables_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(EditError, match="no let variable called 'limit'"):
        read_schematron(written(tmp_path, PHASES, 'defaultPhase="release"'), SchematronOptions(phase="#ALL"))


def test_unknown_phases_and_patterns_are_named(tmp_path: Path) -> None:
    with pytest.raises(EditError, match="no phase called 'relase'; did you mean 'release'"):
        read_schematron(written(tmp_path, PHASES), SchematronOptions(phase="relase"))
    body = PHASES.replace('pattern="b"', 'pattern="bb"')
    with pytest.raises(EditError, match="no pattern called 'bb'"):
        read_schematron(written(tmp_path, body), SchematronOptions(phase="all-of-it"))


ABSTRACT = """
<pattern abstract="true" id="sum"><title>t</title><param name="tolerance" value="0"/><rule context="R">
  <let name="gap" value="number($part) + number($rest) - number($total)"/>
  <assert id="s" test="$gap &lt;= $tolerance and -$gap &lt;= $tolerance">m <value-of select="$total"/></assert>
</rule></pattern>
<pattern is-a="sum" id="first"><param name="part" value="V1"/><param name="rest" value="V2"/>
  <param name="total" value="V3"/></pattern>
<pattern is-a="sum"><param name="part" value="V4"/><param name="rest" value="V5"/><param name="total" value="V6"/>
  <param name="tolerance" value="1"/></pattern>"""


def test_abstract_patterns_are_written_out_with_and_without_id(tmp_path: Path) -> None:
    first, second = read_schematron(written(tmp_path, ABSTRACT))
    assert (first.name, second.name) == ("s", "s.2")
    assert first.variables == ("V1", "V2", "V3")
    assert second.variables == ("V4", "V5", "V6")
    assert (first.kind, second.kind) == ("linear", "linear")
    assert "{V3}" in first.message


def test_abstract_rules_are_written_out_where_they_are_extended(tmp_path: Path) -> None:
    body = """<rules><rule abstract="true" id="base"><let name="x" value="number(V1)"/>
        <assert id="low" test="$x &gt;= 0">m</assert></rule></rules>
      <pattern id="p"><rule abstract="true" id="more"><extends rule="base"/><assert test="$x &lt; 9">m</assert></rule>
      <rule context="R"><extends rule="more"/><assert test="V2 = 1">m</assert></rule></pattern>
      <pattern id="q"><rule context="R"><extends rule="base"/></rule></pattern>"""
    edits = read_schematron(written(tmp_path, body))
    assert [(edit.name, edit.variables) for edit in edits] == [
        ("low", ("V1",)), ("p", ("V1",)), ("p.2", ("V2",)), ("low.2", ("V1",)),
    ]  # fmt: skip


def test_the_meaning_is_that_of_isoschematron(tmp_path: Path) -> None:
    """Given an id, and without let: lxml does not put parameters into the value of one."""
    body = """<pattern abstract="true" id="sum"><rule context="R"><assert id="s"
        test="number($part) + number($rest) = number($total)">m</assert></rule></pattern>
      <pattern is-a="sum" id="first"><param name="part" value="V1"/><param name="rest" value="V2"/>
        <param name="total" value="V3"/></pattern>"""
    path = written(tmp_path, body)
    (edit,) = read_schematron(path)
    data = "<D>" + "".join(f"<R><V1>{v}</V1><V2>2</V2><V3>5</V3></R>" for v in (1, 2, 3, 4, 5)) + "</D>"
    schema = isoschematron.Schematron(etree.parse(path), store_report=True)
    schema.validate(etree.fromstring(data))
    failed = {
        each.get("location") for each in schema.validation_report.iter("{http://purl.oclc.org/dsdl/svrl}failed-assert")
    }

    import pyarrow as pa

    from maskwright.data.record_chunk import RecordChunk
    from maskwright.edits.evaluation.check import evaluate

    texts = {"V1": ["1", "2", "3", "4", "5"], "V2": ["2"] * 5, "V3": ["5"] * 5}
    holds = evaluate(edit, RecordChunk.from_batch(pa.record_batch({k: pa.array(v) for k, v in texts.items()}))).holds
    assert {f"/D/R[{number}]" for number, held in enumerate(holds, start=1) if not held} == failed
    assert failed


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('<pattern><rule abstract="true" id="a"><extends rule="a"/></rule><rule context="R"><extends rule="a"/></rule>\
</pattern>', "extends itself"),
        ('<pattern><rule context="R"><extends rule="bas"/></rule><rule abstract="true" id="base"/></pattern>',
         "did you mean 'base'"),
        ('<pattern abstract="true" id="a"/><pattern is-a="a"><rule context="R"/></pattern>', "understood are param"),
        ('<pattern abstract="true" id="a"/><pattern is-a="a"><param name="x"/></pattern>', "a name and a value"),
        ('<pattern abstract="true" id="a" is-a="b"/><pattern is-a="a"/>', "itself an instance"),
        ('<phase id="f"><pattern/></phase><pattern id="p"><rule context="R"/></pattern>', "no assert"),
    ],
)  # fmt: skip
def test_references_that_lead_nowhere(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(EditError, match=said):
        read_schematron(written(tmp_path, body))


def test_nothing_multiplies_without_bound(tmp_path: Path) -> None:
    """Ten rules that each extend the one before twice: a thousand asserts from ten lines, were there no limit."""
    rules = '<rule abstract="true" id="r0"><assert test="V1">m</assert></rule>'
    for i in range(1, 40):
        rules += f'<rule abstract="true" id="r{i}"><extends rule="r{i - 1}"/><extends rule="r{i - 1}"/></rule>'
    body = f'<pattern id="p">{rules}<rule context="R"><extends rule="r39"/></rule></pattern>'
    with pytest.raises(EditError, match="too many elements"):
        read_schematron(written(tmp_path, body), SchematronOptions(max_elements=1000))


def test_parameters_cannot_make_texts_without_bound(tmp_path: Path) -> None:
    test = "+".join(["$x"] * 2000)
    body = f"""<pattern abstract="true" id="a"><rule context="R"><assert test="{test} = 1">m</assert></rule></pattern>
      <pattern is-a="a"><param name="x" value="{"V1 +" * 500} V1"/></pattern>"""
    with pytest.raises(EditError, match="10,000 characters"):
        read_schematron(written(tmp_path, body))


def test_diagnostics_and_properties_go_into_the_report(tmp_path: Path) -> None:
    body = """<pattern id="p"><rule context="R"><assert id="a" test="V1 = 1" diagnostics="why how" properties="unit">m
      </assert></rule></pattern><diagnostics><diagnostic id="why">It is <value-of select="V1"/></diagnostic>
      <diagnostic id="how">correct it</diagnostic></diagnostics>
      <properties><property id="unit">euro</property></properties>"""
    (edit,) = read_schematron(written(tmp_path, body))
    assert edit.assertion is not None
    assert edit.assertion.diagnostics == (("why", "It is {V1}"), ("how", "correct it"))
    assert edit.assertion.properties == (("unit", "euro"),)
    with pytest.raises(EditError, match="no diagnostic called 'whi'; did you mean 'why'"):
        read_schematron(written(tmp_path, body.replace('"why how"', '"whi"')))


# Included files


def include_case(folder: Path, href: str, element: str = "include") -> Path:
    main = written(folder, f'<{element} href="{href}"/>', name="main/rules.sch")
    pattern = f'<pattern xmlns="{ISO}" id="p"><rule context="R"><assert test="V1 = 1">m</assert></rule></pattern>'
    (folder / "main" / "parts").mkdir(exist_ok=True)
    (folder / "main" / "parts" / "inside.sch").write_text(pattern)
    (folder / "secret.sch").write_text(pattern)
    written(folder, pattern, name="main/parts/whole.sch")
    return main


def test_files_inside_the_declared_folder_are_included(tmp_path: Path) -> None:
    options = SchematronOptions(include_folder=Path("parts"))
    (edit,) = read_schematron(include_case(tmp_path, "parts/inside.sch"), options)
    assert edit.name == "p"
    assert edit.place is not None
    assert edit.place.file == str(tmp_path / "main" / "parts" / "inside.sch")
    assert [edit.name for edit in read_schematron(include_case(tmp_path, "parts/whole.sch#p"), options)] == ["p"]
    assert [edit.name for edit in read_schematron(include_case(tmp_path, "parts/whole.sch", "extends"), options)] == [
        "p"
    ]


@pytest.mark.parametrize(
    "href",
    [
        "../secret.sch", "parts/../../secret.sch", "/etc/passwd", "file:///etc/passwd", "http://127.0.0.1:9/x.sch",
        "//server/x.sch", "\\\\server\\x.sch", "", "parts", "rules.sch", "parts/none.sch", "C:\\x.sch",
        "parts/inside.sch\t",
    ],
)  # fmt: skip
def test_nothing_outside_the_folder_is_read(tmp_path: Path, href: str, monkeypatch: pytest.MonkeyPatch) -> None:
    main = include_case(tmp_path, href)
    opened: list[Path] = []
    plain = Path.open

    def watched(path: Path, *arguments: object, **named: object) -> object:
        opened.append(path.resolve())
        return plain(path, *arguments, **named)

    monkeypatch.setattr(Path, "open", watched)
    inside = (tmp_path / "main" / "parts").resolve()
    if href.strip() == "parts/inside.sch":
        read_schematron(main, SchematronOptions(include_folder=Path("parts")))
    else:
        with pytest.raises(EditError):
            read_schematron(main, SchematronOptions(include_folder=Path("parts")))
    assert all(path == main.resolve() or path.is_relative_to(inside) for path in opened)
    opened.clear()
    with pytest.raises(EditError, match="unless a folder is declared"):
        read_schematron(main)
    assert opened == [main.resolve()]


def test_links_do_not_lead_out(tmp_path: Path) -> None:
    main = include_case(tmp_path, "parts/link.sch")
    (tmp_path / "main" / "parts" / "link.sch").symlink_to(tmp_path / "secret.sch")
    with pytest.raises(EditError, match="outside the folder"):
        read_schematron(main, SchematronOptions(include_folder=Path("parts")))


def test_a_file_that_includes_itself(tmp_path: Path) -> None:
    main = include_case(tmp_path, "parts/a.sch")
    for name, other in (("a", "b"), ("b", "a")):
        content = f'<pattern xmlns="{ISO}"><include href="{other}.sch"/></pattern>'
        (tmp_path / "main" / "parts" / f"{name}.sch").write_text(content)
    with pytest.raises(EditError, match="includes itself"):
        read_schematron(main, SchematronOptions(include_folder=Path("parts")))


def test_included_files_cannot_multiply(tmp_path: Path) -> None:
    main = include_case(tmp_path, "parts/f0.sch")
    for i in range(12):
        inner = f'<include href="f{i + 1}.sch"/>' * 4
        (tmp_path / "main" / "parts" / f"f{i}.sch").write_text(f'<pattern xmlns="{ISO}">{inner}</pattern>')
    (tmp_path / "main" / "parts" / "f12.sch").write_text(f'<rule xmlns="{ISO}" context="R"/>')
    with pytest.raises(EditError, match="more than 100 files"):
        read_schematron(main, SchematronOptions(include_folder=Path("parts")))


def test_included_doctypes_are_refused_too(tmp_path: Path) -> None:
    main = include_case(tmp_path, "parts/evil.sch")
    evil = f'<!DOCTYPE p [<!ENTITY x SYSTEM "file:///etc/passwd">]><pattern xmlns="{ISO}">&x;</pattern>'
    (tmp_path / "main" / "parts" / "evil.sch").write_text(evil)
    with pytest.raises(EditError, match="DOCTYPE"):
        read_schematron(main, SchematronOptions(include_folder=Path("parts")))


# As third parties write schemas


RULE = '<pattern><rule context="r"><assert id="t" test="number(x) &lt;= $MAX">m</assert></rule></pattern>'
OWNER = '<pattern id="c"><let name="HALF" value="50"/><let name="MAX" value="$HALF * 2"/></pattern>'


@pytest.mark.parametrize(
    "body",
    [
        OWNER + RULE,
        RULE + OWNER,
        f'<xsl:variable {XSLT} name="MAX" select="100"/>' + RULE,
        RULE.replace("<assert", f'<xsl:variable {XSLT} name="MAX" select="100"/><assert'),
        '<ns prefix="a" uri="urn:a"/><ns prefix="a" uri="urn:a"/><let name="MAX" value="100"/>' + RULE,
        '<let name="MAX" value="100"/>' + RULE.replace("pattern", "group"),
        '<let name="MAX" value="100"/><note xmlns="urn:notes">for people</note>' + RULE,
    ],
)
def test_schemas_of_third_parties_load_and_mean_what_the_engine_says(tmp_path: Path, body: str) -> None:
    (tmp_path / "d.xml").write_text("<f><r><x>50</x></r><r><x>500</x></r></f>")
    path = written(tmp_path, body)
    edits = read_schematron(path)
    assert [edit.kind for edit in edits] == ["range"]
    by_record = mw.validate(mw.read(tmp_path / "d.xml"), edits)
    assert by_record.counts == mw.validate_document(tmp_path / "d.xml", path).counts == {"t": 1}


def test_variables_that_patterns_share_are_a_notice(tmp_path: Path) -> None:
    (note,) = read_schematron(written(tmp_path, OWNER + RULE)).notes
    assert "HALF, MAX" in note
    own = OWNER.replace("100", "1") + RULE.replace("<rule", '<let name="MAX" value="7"/><rule')
    assert read_schematron(written(tmp_path, own)).notes == ()


def test_a_prefix_of_two_namespaces_is_refused(tmp_path: Path) -> None:
    body = '<ns prefix="a" uri="urn:a"/><ns prefix="a" uri="urn:b"/><let name="MAX" value="1"/>' + RULE
    with pytest.raises(EditError, match="for different namespaces"):
        read_schematron(written(tmp_path, body))
    with pytest.raises(EditError, match="for different namespaces"):
        mw.validate_document(written(tmp_path, body), written(tmp_path, body))


def test_parameters_are_put_into_diagnostics(tmp_path: Path) -> None:
    body = (
        '<pattern abstract="true" id="most"><rule context="r"><assert test="number(x) &lt;= $max" diagnostics="d">m'
        '</assert></rule></pattern><pattern is-a="most" id="p"><param name="max" value="100"/></pattern>'
        '<pattern is-a="most" id="q"><param name="max" value="number(y)"/></pattern>'
        '<diagnostics><diagnostic id="d">at most <value-of select="$max"/></diagnostic></diagnostics>'
    )
    edits = read_schematron(written(tmp_path, body))
    stated = [edit.assertion.diagnostics for edit in edits if edit.assertion is not None]
    assert stated == [(("d.1", "at most {100}"),), (("d.2", "at most {y}"),)]


def test_an_abstract_rule_of_another_pattern_is_refused_unless_it_is_of_all(tmp_path: Path) -> None:
    abstract = '<rule abstract="true" id="r"><assert test="V1 &lt; 5">m</assert></rule>'
    plain = '<pattern><rule context="R"><extends rule="r"/></rule></pattern>'
    with pytest.raises(EditError, match="'r' is one of another pattern") as refused:
        read_schematron(written(tmp_path, f"<pattern>{abstract}</pattern>{plain}"))
    assert "put it into <rules>" in str(refused.value)
    of_all, as_others = f"<rules>{abstract}</rules>{plain}", SchematronOptions(rules_of_other_patterns=True)
    elsewhere = written(tmp_path, f"<pattern>{abstract}</pattern>{plain}")
    found = [read_schematron(elsewhere, as_others), read_schematron(written(tmp_path, of_all))]
    for (edit,) in found:
        assert edit.assertion is not None
        assert edit.assertion.test == "V1 < 5"
