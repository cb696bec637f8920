"""Reading Schematron files: meaning against lxml.isoschematron, refusals, hostile files."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree, isoschematron

from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.edit import LinearPart
from maskwright.edits.engines.checker import stop_compiler
from maskwright.edits.evaluation.binary64 import evaluate_xpath
from maskwright.edits.expression import Not
from maskwright.edits.languages.schematron.reader import read_schematron
from maskwright.foundation.errors import EditError

if TYPE_CHECKING:
    from maskwright.edits.edit_set import EditSet

ISO = "http://purl.oclc.org/dsdl/schematron"
ASCC = "http://www.ascc.net/xml/schematron"
SVRL = "{http://purl.oclc.org/dsdl/svrl}"
EXAMPLES = Path(__file__).parents[5] / "schemas" / "examples"


def columns_of(root: etree._Element) -> RecordChunk:
    names = list(dict.fromkeys(str(cell.tag) for record in root for cell in record))
    texts = {}
    for name in names:
        cells = [record.find(name) for record in root]
        texts[name] = pa.array([None if cell is None else cell.text or "" for cell in cells], pa.string())
    return RecordChunk.from_batch(pa.record_batch(texts))


def verdicts(edits: EditSet, root: etree._Element) -> list[tuple[str, int]]:
    """Test and record number of every complaint."""
    columns = columns_of(root)
    found = []
    for edit in edits:
        assert edit.assertion is not None
        path = f"/{root.tag}/{root[0].tag}"
        if edit.shadowed or edit.context not in (path, root[0].tag):
            continue
        holds = evaluate_xpath(edit.expression, columns).holds
        found += [(edit.assertion.test, number) for number, held in enumerate(holds, start=1) if not held]
    return sorted(found)


def oracle(schema: bytes, root: etree._Element) -> list[tuple[str, int]]:
    validator = isoschematron.Schematron(
        etree.fromstring(schema), store_report=True, error_finder=isoschematron.Schematron.ASSERTS_AND_REPORTS
    )
    validator.validate(etree.ElementTree(root))
    found = []
    for kind in ("failed-assert", "successful-report"):
        for complaint in validator.validation_report.iter(f"{SVRL}{kind}"):
            location = complaint.get("location")
            number = int(location.rpartition("[")[2].rstrip("]")) if location.endswith("]") else 1
            found.append((" ".join(complaint.get("test").split()), number))
    return sorted(found)


def schema_of(body: str, namespace: str = ISO, attributes: str = "") -> bytes:
    return f'<schema xmlns="{namespace}" {attributes}>{body}</schema>'.encode()


def written(folder: Path, content: bytes | str, name: str = "rules.sch") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rule(asserts: str, context: str = "Record") -> str:
    return f'<pattern id="p"><rule context="{context}">{asserts}</rule></pattern>'


def records(*cells: dict[str, str]) -> etree._Element:
    root = etree.Element("Microdata")
    for record in cells:
        element = etree.SubElement(root, "Record")
        for name, text in record.items():
            etree.SubElement(element, name).text = text
    return root


# The reference file


def test_census_rules_are_read_and_hold(reference: Path) -> None:
    edits = read_schematron(reference / "census16.sch")
    assert [edit.name for edit in edits] == ["EC-LC", "EC-LC2", "EC-NLC", "EC-PV", "EC-GV"]
    assert [edit.kind for edit in edits] == ["linear", "linear", "product", "range", "governing"]
    assert edits["EC-LC"].message == "Linear constraint: other income {V9} + person income {V10} != family income {V14}"
    assert edits["EC-LC"].place is not None
    assert edits["EC-LC"].place.line == 7
    assert isinstance(edits["EC-LC"].parts[0], LinearPart)
    assert edits.notes == ()
    root = etree.parse(reference / "census16.xml").getroot()
    assert len(root) == 1080
    assert verdicts(edits, root) == []


@pytest.mark.parametrize("seed", [1, 2])
def test_verdicts_on_broken_copies_agree_with_isoschematron(reference: Path, tmp_path: Path, seed: int) -> None:
    schema = reference / "census16.sch"
    root = etree.parse(reference / "census16.xml").getroot()
    pick = random.Random(seed)
    for record in pick.sample(list(root), 150):
        cell = pick.choice(list(record))
        damage = pick.choice(["absent", "", " 7 ", "abc", "-0", "+5", "0x10", "more", "more"])
        if damage == "absent":
            record.remove(cell)
        else:
            cell.text = str(int(cell.text) + 1) if damage == "more" else damage
    path = tmp_path / "broken.xml"
    etree.ElementTree(root).write(path)
    broken = etree.parse(path, etree.XMLParser(remove_blank_text=True)).getroot()
    found = verdicts(read_schematron(schema), broken)
    assert found == oracle(schema.read_bytes(), broken)
    assert len(found) > 40


# Meaning


TESTS = [
    "V1 = V2", "number(V1) + number(V2) = number(V3)", "V1 != 5", "not(V1 &lt; V2)", "V1", "$c &lt; V1", "$r = 7",
    "V9 != 5", "number(V9) != 5", "V1 * V2 &gt;= $r", "string(V1) = $s", "$s = 'x' or V2 &gt; $c", "round(V1) = V1",
]  # fmt: skip
asserts = st.builds(
    '<{} test="{}">m</{}>'.format, st.just("assert"), st.sampled_from(TESTS), st.just("assert")
) | st.builds('<{} test="{}">m</{}>'.format, st.just("report"), st.sampled_from(TESTS), st.just("report"))
rules = st.builds(
    '<rule context="{}"><let name="r" value="V3"/>{}</rule>'.format,
    st.sampled_from(["Record", "Record", "Other", "//Record"]),
    st.lists(asserts, min_size=1, max_size=3).map("".join),
)
patterns = st.lists(rules, min_size=1, max_size=3).map("".join).map("<pattern>{}</pattern>".format)


@given(body=st.lists(patterns, min_size=1, max_size=2).map("".join))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_schema_of_the_subset_means_what_isoschematron_says(tmp_path: Path, body: str) -> None:
    schema = schema_of(f'<let name="c" value="2 + 1"/><let name="s" value="\'x\'"/>{body}')
    pick = random.Random(3)
    pool = ["", " 7 ", "7", "-0", "1.5", "+5", "abc", "3", "10", "9", None]
    cells = [{name: pick.choice(pool) for name in ("V1", "V2", "V3")} for _ in range(25)]
    root = records(*({name: text for name, text in record.items() if text is not None} for record in cells))
    edits = read_schematron(written(tmp_path, schema))
    assert verdicts(edits, root) == oracle(schema, root)


def test_inner_variables_hide_outer_ones(tmp_path: Path) -> None:
    body = """<let name="most" value="10"/>
      <pattern><let name="most" value="5"/>
        <rule context="Record"><assert test="V1 &lt; $most">m</assert></rule></pattern>
      <pattern><rule context="Record"><let name="most" value="V2"/><let name="twice" value="2 * $most"/>
        <assert test="V1 &lt; $twice">m</assert></rule></pattern>
      <pattern><rule context="Record"><assert test="V1 &lt; $most">m</assert></rule></pattern>"""
    edits = read_schematron(written(tmp_path, schema_of(body)))
    root = records({"V1": "4", "V2": "1"}, {"V1": "7", "V2": "9"}, {"V1": "12", "V2": "9"})
    columns = columns_of(root)
    assert [evaluate_xpath(edit.expression, columns).holds.tolist() for edit in edits] == [
        [True, False, False],
        [False, True, True],
        [True, True, False],
    ]


def test_a_report_is_an_edit_that_holds_where_its_test_is_false(tmp_path: Path) -> None:
    edits = read_schematron(written(tmp_path, schema_of(rule('<report id="r" test="V1 &gt; 2">m</report>'))))
    assert isinstance(edits["r"].expression, Not)
    assert edits["r"].text == "not(V1 > 2)"
    assert edits["r"].assertion is not None
    assert edits["r"].assertion.report
    assert edits["r"].assertion.test == "V1 > 2"


def test_only_the_first_matching_rule_of_a_pattern_fires(tmp_path: Path) -> None:
    first, second = (
        '<rule context="Record"><assert test="V1 = 1">m</assert></rule>',
        '<rule context="//Record"><assert test="V1 = 2">m</assert></rule>',
    )
    schema = schema_of(f"<pattern>{first}{second}</pattern><pattern>{second}</pattern>")
    edits = read_schematron(written(tmp_path, schema))
    assert [edit.shadowed for edit in edits] == [False, True, False]
    assert "never fires" in edits.notes[0]
    root = records({"V1": "2"}, {"V1": "1"}, {"V1": "3"})
    assert verdicts(edits, root) == oracle(schema, root)


def test_names(tmp_path: Path) -> None:
    check = '<assert test="V1 = 1">m</assert>'
    own = '<assert id="own" test="V1">m</assert>'
    body = f"""<pattern id="a"><rule context="Record">{check}{own}{check}</rule></pattern>
      <pattern><rule context="Record">{check}</rule></pattern>
      <pattern id="own"><rule context="Record">{check}</rule></pattern>
      <pattern id="a"><rule context="Record">{check}</rule></pattern>"""
    edits = read_schematron(written(tmp_path, schema_of(body)))
    assert [edit.name for edit in edits] == ["a", "own", "a.2", "edit-4", "own.2", "a.3"]


def test_messages_name_variables_and_never_values(tmp_path: Path) -> None:
    body = rule(
        '<let name="total" value="V1 + V2"/><assert test="V1">In <name/>: <emph>sum</emph>\n of '
        '<value-of select="number(V1)"/> is <value-of select="$total"/>, <value-of select="count(*)"/></assert>'
    )
    edits = read_schematron(written(tmp_path, schema_of(body)))
    assert edits["p"].message == "In Record: sum of {V1} is {(V1 + V2)}, {count(*)}"
    assert any("count(*)" in note for note in edits.notes)


@pytest.mark.parametrize(
    ("attributes", "severity"),
    [
        ("", "error"), ('role="warning"', "warning"), ('role="INFO"', "warning"), ('flag="warn"', "warning"),
        ('role="error" flag="warning"', "error"), ('role="total" flag="warning"', "warning"), ('role="total"', "error"),
        ('severity="warning"', "warning"),
    ],
)  # fmt: skip
def test_severity(tmp_path: Path, attributes: str, severity: str) -> None:
    edits = read_schematron(written(tmp_path, schema_of(rule(f'<assert {attributes} test="V1">m</assert>'))))
    assert edits["p"].severity == severity


@pytest.mark.parametrize("context", ["Record", "//Record", "/Microdata/Record"])
def test_contexts(tmp_path: Path, context: str) -> None:
    edits = read_schematron(written(tmp_path, schema_of(rule('<assert test="V1">m</assert>', context))))
    assert edits["p"].context == context.removeprefix("//")


def test_what_is_for_people_only_is_left_out_with_a_note(tmp_path: Path) -> None:
    body = f"""<title>t</title><p>text</p><key name="k"/>
      {rule('<assert test="V1" x:y="1" xmlns:x="urn:x">m</assert>')}"""
    edits = read_schematron(written(tmp_path, schema_of(body)))
    notes = "\n".join(edits.notes)
    for name in ("key", "'y' of another namespace"):
        assert name in notes


def test_hyphens_are_pointed_out(tmp_path: Path) -> None:
    edits = read_schematron(written(tmp_path, schema_of(rule('<assert test="V1-V2 = 0">m</assert>'))))
    assert edits.variables == ("V1-V2",)
    assert "V1 - V2" in edits.notes[0]


# Namespaces, bindings, examples


def test_schematron_1_5_means_the_same_as_iso(tmp_path: Path) -> None:
    path = EXAMPLES / "balance-sheet-1.5.sch"
    edits = read_schematron(path)
    assert [edit.name for edit in edits] == ["balance", "balance.2", "balance.3"]
    iso = path.read_bytes().replace(ASCC.encode(), ISO.encode()).replace(b'name="balance"', b'id="balance"')
    root = etree.Element("Firms")
    for assets, equity, debt in ((10, 4, 6), (10, 5, 6), (-1, 0, -1), (201, 1, 200)):
        firm = etree.SubElement(root, "Firm")
        for name, value in (("assets", assets), ("equity", equity), ("debt", debt)):
            etree.SubElement(firm, name).text = str(value)
    assert verdicts(edits, root) == oracle(iso, root) != []


def test_household_example_agrees_with_isoschematron() -> None:
    path = EXAMPLES / "household-income.sch"
    edits = read_schematron(path)
    assert {edit.kind for edit in edits} == {"linear", "product", "range", "governing"}
    pick = random.Random(5)
    root = etree.Element("Microdata")
    for _ in range(60):
        household = etree.SubElement(root, "Household")
        for name in edits.variables:
            if pick.random() < 0.95:
                etree.SubElement(household, name).text = str(pick.choice([0, 1, 2, 12, 17, 24, 30000]))
    assert verdicts(edits, root) == oracle(path.read_bytes(), root) != []


def test_every_example_is_read() -> None:
    paths = sorted(EXAMPLES.glob("*.sch"))
    assert len(paths) >= 3
    for path in paths:
        assert all(edit.kind != "checked" for edit in read_schematron(path))


def test_the_reference_data_are_flat_microdata(reference: Path) -> None:
    grammar = etree.RelaxNG(etree.parse(EXAMPLES.parent / "microdata.rng"))
    tree = etree.parse(reference / "census16.xml")
    assert grammar.validate(tree)
    nested = copy.deepcopy(tree)
    etree.SubElement(nested.getroot()[0][0], "deeper").text = "1"
    assert not grammar.validate(nested)


@pytest.mark.parametrize("binding", ["xslt2", "xslt3", "XPath31", "xpath2"])
def test_later_bindings_where_both_answers_agree(tmp_path: Path, binding: str) -> None:
    test = "not(number(V8) &lt; 1115) or (-0.5 &lt;= number(V13) and floor(number(V1) div 0) != round(2 * number(V12)))"
    schema = schema_of(rule(f'<assert test="{test}">m</assert>'), attributes=f'queryBinding="{binding}"')
    assert len(read_schematron(written(tmp_path, schema))) == 1


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        ("V1 &lt; V2", r"write number\(V1\)"),
        ("number(V1 + 1) = 2", r"write number\(V1\)"),
        ("number(V1) = 0.1 + 0.2", "decimal arithmetic"),
        ("1 div 3 = number(V1)", "decimal arithmetic"),
        ("0.1 = 0.10", "literals are compared"),
        ("true() = number(V1)", "truth value"),
        ("number(V1) + (number(V2) = 2) = 3", "truth value"),
        ("string(number(V1)) = '2'", r"string\(\)"),
        ("'10' &lt; '9'", "text"),
        ("number('1e3') = number(V1)", "text"),
        ("1 div -0 = number(V1)", "negative zero"),
        ("round(2.5) = number(V1)", r"round\(\) of a literal"),
    ],
)
def test_later_bindings_where_answers_may_differ_are_left_to_an_engine(
    tmp_path: Path, test: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saxon checks them, or refuses what is a type error there; without Saxon they are refused with the reason."""
    schema = schema_of(rule(f'<assert test="{test}">m</assert>'), attributes='queryBinding="xslt2"')
    path = written(tmp_path, schema)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    stop_compiler("saxon")  # one may still run for an earlier test
    with pytest.raises(EditError, match=f"rules.sch:1: XPath 1.0 and the xslt2 binding.*{reason}") as caught:
        read_schematron(path)
    assert "maskwright[xpath3]" in str(caught.value)


# Refusals

GOOD = '<assert test="V1">m</assert>'
XSL = 'xmlns:xsl="http://www.w3.org/1999/XSL/Transform"'


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('<include href="other.sch"/>', "unless a folder is declared"),
        ('<extends href="other.sch"/>', "unless a folder is declared"),
        (rule('<extends rule="base"/>' + GOOD), "no abstract rule called 'base'"),
        ('<pattern is-a="base" id="q"/>', "no abstract pattern called 'base'"),
        ('<pattern abstract="true" id="q"/>', "no assert"),
        (f'<pattern documents="\'x.xml\'"><rule context="Record">{GOOD}</rule></pattern>', "documents"),
        (f'<pattern><rule abstract="true" id="b">{GOOD}</rule></pattern>', "no assert"),
        (rule('<assert test="summ(V1) = 2">m</assert>'), r"XPath 1.0 has no function summ\(\)"),
        (rule('<assert test="exists(V1)">m</assert>'), r"exists\(\) is no function of XPath 1.0"),
        (rule('<assert test="V1 +">m</assert>'), "expected a variable"),
        (rule('<assert test="@x:a = 1">m</assert>'), "no <ns> declares the prefix 'x'"),
        (rule('<assert test="$x/V1 = 1">m</assert>'), "no let variable called 'x'"),
        (rule("<assert>m</assert>"), "needs a test"),
        (rule('<assert tset="V1" test="V1">m</assert>'), "did you mean 'test'"),
        (rule(GOOD, context="x:Record"), "no <ns> declares the prefix 'x'"),
        (rule(GOOD, context="Record[document('x')]"), r"document\(\)"),
        (rule(GOOD, context="text()"), "about elements"),
        (rule(GOOD, context="Record["), "no engine can check it"),
        (f"<pattern><rule>{GOOD}</rule></pattern>", "needs a context"),
        ('<let name="x" value="1"/><let name="x" value="2"/>' + rule(GOOD), "defined twice"),
        ('<let name="x"><a/></let>' + rule(GOOD), "needs a name and a value"),
        (rule("<assert test=\"V1 = document('/etc/passwd')\">m</assert>"), "another document"),
        (rule("<assert test=\"V1 = document('/etc/passwd')//V2\">m</assert>"), "another column"),
        (rule("<assert test=\"V1 = document(V2)//V1\">m</assert>"), "name is not written out"),
        (rule("<assert test=\"count(document('/etc/passwd')) = 1\">m</assert>"), r"document\(\)"),
        (rule("<assert test=\"unparsed-text('/etc/passwd') = 'x'\">m</assert>"), r"unparsed-text\(\)"),
        (rule(f'<assert test="V1"><xsl:apply-templates select="1" {XSL}/></assert>'), "another namespace"),
        (f'<xsl:key name="k" match="a" use="b" {XSL}/>' + rule(GOOD), "refused"),
        (rule('<bad xmlns="">1</bad>' + GOOD), "no namespace"),
        (rule(GOOD + '<asert test="V1"/>'), "did you mean 'assert'"),
        (rule('<assert id="a" test="V1">m</assert><assert id="a" test="V2">m</assert>'), "used twice"),
        (rule('<assert test="V1"><p>m</p></assert>'), "does not belong into a message"),
        (rule('<assert test="' + "(" * 400 + "V1" + ")" * 400 + '">m</assert>'), "200 levels"),
        ("", "no assert"),
        ("words" + rule(GOOD), "text outside"),
    ],
)  # fmt: skip
def test_what_changes_the_meaning_is_refused_by_name_and_line(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(EditError, match=said) as caught:
        read_schematron(written(tmp_path, schema_of(body)))
    assert all(problem.place is not None and problem.place.line == 1 for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("attributes", "said"), [('queryBinding="xquery"', "xquery"), ('defaultPhase="x"', "no phase called 'x'")]
)
def test_schema_attributes_that_change_the_meaning(tmp_path: Path, attributes: str, said: str) -> None:
    with pytest.raises(EditError, match=said):
        read_schematron(written(tmp_path, schema_of(rule(GOOD), attributes=attributes)))


def test_every_mistake_is_reported_with_its_line(tmp_path: Path) -> None:
    body = (
        rule('\n<assert test="summ(V1)">m</assert>\n<assert test="V1 +">m</assert>\n' + GOOD) + '\n<library href="x"/>'
    )
    with pytest.raises(EditError) as caught:
        read_schematron(written(tmp_path, schema_of(body)))
    assert sorted(problem.place.line or 0 for problem in caught.value.problems if problem.place) == [2, 3, 5]
    assert "summ(V1)" in str(caught.value)


def test_rules_that_can_never_hold_are_reported_with_the_other_mistakes(tmp_path: Path) -> None:
    body = rule('<assert test="1 = 2">m</assert><assert test="summ(V1)">m</assert>')
    with pytest.raises(EditError) as caught:
        read_schematron(written(tmp_path, schema_of(body)))
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    "wrap", ["floor({})", "not({})", "-{}", "({} + 0)", "({} = 1)", "boolean({})", "string({})", "({} and V1)"]
)
def test_the_deepest_test_is_read_classified_and_evaluated(tmp_path: Path, wrap: str) -> None:
    text = "V1"
    for _ in range(198):
        text = wrap.format(text)
    schema = schema_of(rule(f'<assert test="{text}">m</assert>'))
    edits = read_schematron(written(tmp_path, schema))
    assert evaluate_xpath(edits["p"].expression, columns_of(records({"V1": "1"}))).holds.shape == (1,)


@pytest.mark.parametrize(
    ("test", "kind"),
    [
        ("not(V1) or number(V2) &gt;= 0", "governing"),
        ("V1 and V2", "checked"),
        ("(V1 &lt; V2) = true()", "linear"),
        ("number('3') &lt; V1", "range"),
        ("V1 &lt; '5'", "range"),
        ("not(V1 &lt; 2) = false()", "range"),
    ],
)
def test_implicit_conversions_are_seen_through(tmp_path: Path, test: str, kind: str) -> None:
    edits = read_schematron(written(tmp_path, schema_of(rule(f'<assert test="{test}">m</assert>'))))
    assert edits["p"].kind == kind


# Hostile and damaged files

DOCTYPES = {
    "external entity": '<!DOCTYPE schema [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    "billion laughs": '<!DOCTYPE schema [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY x "&b;&b;&b;&b;">]>',
    "external subset": '<!DOCTYPE schema SYSTEM "http://example.org/x.dtd">',
    "parameter entity": '<!DOCTYPE schema [<!ENTITY % p SYSTEM "http://example.org/p"> %p;]>',
    "attribute default": '<!DOCTYPE schema [<!ATTLIST assert test CDATA "true()">]>',
    "harmless": "<!DOCTYPE schema>",
}


@pytest.mark.parametrize("doctype", DOCTYPES.values(), ids=DOCTYPES.keys())
def test_any_doctype_is_refused(tmp_path: Path, doctype: str) -> None:
    content = f'<?xml version="1.0"?>\n{doctype}\n'.encode() + schema_of(rule(GOOD))
    with pytest.raises(EditError, match=r"rules.sch:2: a DOCTYPE \(schema\) is refused"):
        read_schematron(written(tmp_path, content))


@pytest.mark.parametrize("encoding", ["UTF-7", "utf-32", "cp037", "windows-1252", "no-such"])
def test_other_encodings_are_refused(tmp_path: Path, encoding: str) -> None:
    content = f'<?xml version="1.0" encoding="{encoding}"?>'.encode() + schema_of(rule(GOOD))
    with pytest.raises(EditError, match="encoding"):
        read_schematron(written(tmp_path, content))


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "ISO-8859-1"])
def test_allowed_encodings(tmp_path: Path, encoding: str) -> None:
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?>'
        + schema_of(rule('<assert test="família = 1">ç</assert>')).decode()
    )
    edits = read_schematron(written(tmp_path, text.encode(encoding)))
    assert edits.variables == ("família",)
    assert edits["p"].message == "ç"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"not xml", "not well-formed"),
        (schema_of(rule(GOOD))[:-20], "rules.sch:1:.*not well-formed"),
        (b"<schema", "not well-formed"),
        (b"\xff\xfe\x00\x00garbage", "not well-formed|cannot be decoded"),
        (b"\x00" * 50, "not well-formed"),
        (b"<schema/>", "in no namespace"),
        (b'<rules xmlns="urn:x"/>', "found <rules>"),
        (schema_of(rule('<assert test="&x;">m</assert>')), "not well-formed|undefined entity"),
        (schema_of("<p>" * 40 + "</p>" * 40), "32 levels"),
        (schema_of("<p/>" * 100_001), "100,000 elements"),
        (schema_of("<p>" + "x" * (8 * 2**20) + "</p>"), "8 MB"),
    ],
)
def test_damaged_files(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(EditError, match=said):
        read_schematron(written(tmp_path, content))


def test_truncation_is_named(tmp_path: Path) -> None:
    with pytest.raises(EditError, match="copied whole"):
        read_schematron(written(tmp_path, schema_of(rule(GOOD))[:-5]))


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(EditError, match="no such rule file"):
        read_schematron(tmp_path / "none.sch")
    with pytest.raises(EditError, match="cannot be read"):
        read_schematron(tmp_path)


@given(cut=st.integers(0, 400), flip=st.integers(0, 400), byte=st.integers(0, 255))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_bytes_are_read_or_refused_never_a_crash(tmp_path: Path, cut: int, flip: int, byte: int) -> None:
    content = bytearray(schema_of(rule(GOOD + '<report test="number(V1) &gt; 2">x <value-of select="V1"/></report>')))
    content[flip % len(content)] = byte
    try:
        read_schematron(written(tmp_path, bytes(content[: len(content) - cut % 7])))
    except EditError as refusal:
        problems = refusal.problems
    else:
        return
    assert problems
