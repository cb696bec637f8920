"""Rules outside the subset: checked by lxml or Saxon, with the verdicts of Schematron processors, and no way out."""

from __future__ import annotations

import importlib.util
import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree, isoschematron

from maskwright.cli.main import main
from maskwright.edits.engines.checker import EngineProcess
from maskwright.edits.engines.engine_tests import screen, stylesheet_of
from maskwright.edits.languages.schematron.options import SchematronOptions
from maskwright.edits.languages.schematron.reader import read_schematron
from maskwright.foundation.errors import EditError

if TYPE_CHECKING:
    from pathlib import Path

ISO = "http://purl.oclc.org/dsdl/schematron"
SVRL = "{http://purl.oclc.org/dsdl/svrl}"
needs_saxon = pytest.mark.skipif(importlib.util.find_spec("saxonche") is None, reason="saxonche is not installed")


def schema(body: str, binding: str = "xslt") -> str:
    return f'<schema xmlns="{ISO}" queryBinding="{binding}">{body}</schema>'


def rule(test: str, context: str = "Record", name: str = "a") -> str:
    return f'<pattern><rule context="{context}"><assert id="{name}" test="{test}">m</assert></rule></pattern>'


def validated(folder: Path, body: str, data: str, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, Any]:
    (folder / "rules.sch").write_text(body)
    (folder / "data.xml").write_text(data)
    code = main(["validate", str(folder / "data.xml"), "--edits", str(folder / "rules.sch"), "--json", *more])
    said = capsys.readouterr()
    return code, json.loads(said.out) if said.out else said.err


def expected(body: str, data: str) -> dict[str, set[int]]:
    """Complaints of isoschematron: records by id of the assert; 0 is above the records."""
    validator = isoschematron.Schematron(etree.fromstring(body), store_report=True)
    root = etree.fromstring(data)
    validator.validate(root.getroottree())
    found: dict[str, set[int]] = {}
    for kind in ("failed-assert", "successful-report"):
        for each in validator.validation_report.iter(f"{SVRL}{kind}"):
            node = root.getroottree().xpath(each.get("location"))[0]
            while node is not root and node.getparent() is not root:
                node = node.getparent()
            found.setdefault(each.get("id"), set()).add(0 if node is root else list(root).index(node) + 1)
    return found


CELLS = ["", " 7 ", "7", "12", "-1", "abc", "10", "9", "a<b&c", None]
WIDE = """
<let name="records" value="count(//Record)"/><let name="limit" value="5"/>
<pattern><rule context="Record[V1 &gt; 8]"><let name="s" value="sum(V1 | V2)"/>
    <assert id="sum" test="$s &lt; 15">m</assert><report id="few" test="$records &lt; 3">m</report></rule>
  <rule context="Record"><assert id="text" test="contains(V3, 'a') or string-length(V3) &lt; 2">m</assert>
    <report id="over" test="$limit &lt; V2">m</report></rule></pattern>
<pattern><rule context="V1 | Record/V2"><assert id="length"
    test="string-length(normalize-space(.)) &lt; 3">m</assert></rule></pattern>
<pattern><rule context="Record"><assert id="unique" test="not(V1 = preceding-sibling::Record/V1)">m</assert>
    <assert id="model" test="V1 &gt;= 0">m</assert></rule></pattern>
<pattern><rule context="/Records/Record"><assert id="last" test="position() &lt; 4 or V2">m</assert></rule></pattern>
<pattern><rule context="Records"><assert id="many" test="count(Record) &gt; 100">m</assert></rule></pattern>
<pattern><rule context="*"><assert id="any" test="count(*) &lt; 3">m</assert></rule></pattern>"""


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("gap", ["", "\n  "])
def test_complaints_are_those_of_isoschematron(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int, gap: str
) -> None:
    pick = random.Random(seed)
    root = etree.Element("Records")
    for _ in range(12):
        record = etree.SubElement(root, "Record")
        for name in ("V1", "V2", "V3"):
            text = pick.choice(CELLS)
            if text is not None:
                etree.SubElement(record, name).text = text
    if len(root[0]) == 0:
        etree.SubElement(root[0], "V1").text = "1"
    for name in ("V1", "V2", "V3"):
        etree.SubElement(root[-1], name).text = "1" if root[-1].find(name) is None else None
        root[-1][:] = [root[-1].find(name) for name in ("V1", "V2", "V3") if root[-1].find(name) is not None]
    if gap:
        etree.indent(root)
    data, body = etree.tostring(root, encoding="unicode"), schema(WIDE)
    code, found = validated(tmp_path, body, data, capsys)
    assert code == 1
    wanted = expected(body, data)
    for edit in found["edits"]:
        records = wanted.get(edit["name"], set())
        assert edit["first_records"] == sorted(records - {0})[:10]
        assert edit["checked_by"] == ("model" if edit["name"] == "model" else "lxml")
        assert bool(edit["violations"]) == bool(records)


def test_pieces_of_a_file_leave_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """2500 records, checked by the thousand."""
    data = "<D>" + "".join(f"<R><V>{'x' * (i % 7)}</V></R>" for i in range(2500)) + "</D>"
    code, found = validated(tmp_path, schema(rule("string-length(V) != 6", "R")), data, capsys)
    assert code == 1
    (edit,) = found["edits"]
    assert (edit["fired"], edit["violations"]) == (2500, sum(i % 7 == 6 for i in range(2500)))
    assert edit["first_records"] == [i + 1 for i in range(2500) if i % 7 == 6][:10]


def test_names_that_are_not_in_the_data_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = validated(
        tmp_path, schema(rule("contains(town, 'x')", "R")), "<D><R><twon>x</twon></R><R/></D>", capsys
    )
    assert code == 2
    assert "no variable called 'town'; did you mean 'twon'" in said


def test_a_rule_that_never_fires_alone_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = "<D><R><V>1</V></R><R><V>2</V></R></D>"
    code, said = validated(tmp_path, schema(rule("contains(V, '1')", "R[V = 3]")), data, capsys)
    assert code == 2
    assert "no edit ever fired" in said


def test_csv_records_are_checked_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rules.sch").write_text(schema(rule("contains(name, 'a')", "Person[age &gt; 3]")))
    (tmp_path / "d.csv").write_text("name,age\nanna,5\nbob,7\nbob,1\n")
    code = main(["validate", str(tmp_path / "d.csv"), "--edits", str(tmp_path / "rules.sch"), "--json"])
    (edit,) = json.loads(capsys.readouterr().out)["edits"]
    assert (code, edit["fired"], edit["first_records"]) == (1, 2, [2])


def test_an_engine_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    with EngineProcess("lxml") as process, pytest.raises(EditError, match="more than 0 seconds"):
        process.answer({"compile": []}, 0.0)


# Saxon


@needs_saxon
@pytest.mark.parametrize("binding", ["xslt2", "xslt3", "xpath2", "xpath3"])
def test_later_versions_have_their_own_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], binding: str
) -> None:
    """9 and 10 as text, 0.1 + 0.2 as decimals, and what XPath 1.0 does not know."""
    tests = ["V1 &lt; V2", "0.1 + 0.2 = 0.3", "every $v in (V1, V2) satisfies number($v) &gt; 8", "matches(V1, '^9$')"]
    body = "".join(rule(test, name=f"t{i}") for i, test in enumerate(tests)) + rule("number(V1) &gt; 8", name="own")
    data = "<D><Record><V1>9</V1><V2>10</V2></Record><Record><V1>9</V1><V2>95</V2></Record></D>"
    code, found = validated(tmp_path, schema(body, binding), data, capsys)
    assert code == 1
    assert [edit["first_records"] for edit in found["edits"]] == [[1], [], [], [], []]
    assert [edit["checked_by"] for edit in found["edits"]] == ["saxon"] * 4 + ["model"]


@needs_saxon
def test_what_cannot_be_evaluated_leaves_the_other_verdicts_and_names_no_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = "<D><Record><V1>1</V1></Record><Record><V1>Geheim</V1></Record><Record><V1>7</V1></Record></D>"
    rules = schema(rule("V1 &lt; 5") + rule("number(V1) = 1", name="b"), "xslt2")
    report = tmp_path / "report.svrl"
    code, said = validated(tmp_path, rules, data, capsys, "--svrl", str(report))
    assert code == 1
    assert "Geheim" not in str(said)
    assert '<?maskwright undecidable id="a" code="FORG0001" location="/D/Record[2]"?>' in report.read_text()
    failed = [(each.get("id"), each.get("location")) for each in etree.parse(report).iter("{*}failed-assert")]
    assert failed == [("a", "/D/Record[3]"), ("b", "/D/Record[2]"), ("b", "/D/Record[3]")]
    first, second = said["edits"]
    assert first["undecidable"] == ["its test cannot be evaluated on record 2 (FORG0001: a value cannot be cast)"]
    assert (first["first_records"], second["first_records"]) == ([2, 3], [2, 3])
    assert "undecidable" not in second


# The rule of the source paper


PAPER = """<pattern name="Value-domain restriction"><rule context="Record">
  <let name="original" value="document('microdata.xml')"/>
  <assert test="exists(index-of ($ original //Record/V1, V1))">Value <value-of select="V1"/> is not in domain of
  original values for V1</assert></rule></pattern>"""


@pytest.mark.parametrize("binding", ["xslt", "xslt2"])
def test_the_domain_rule_of_the_paper(tmp_path: Path, capsys: pytest.CaptureFixture[str], binding: str) -> None:
    """The file is the one that --original names; what microdata.xml beside the rules holds is never used."""
    (tmp_path / "microdata.xml").write_text("<D><Record><V1>3</V1></Record></D>")
    original = tmp_path / "original.xml"
    original.write_text("<D><Record><V1>1</V1></Record><Record><V1>2</V1></Record></D>")
    data = "<D><Record><V1>2</V1></Record><Record><V1>3</V1></Record><Record><V1>1</V1></Record></D>"
    code, found = validated(tmp_path, schema(PAPER, binding), data, capsys, "--original", str(original))
    (edit,) = found["edits"]
    assert (code, edit["kind"], edit["checked_by"], edit["first_records"]) == (1, "domain", "model", [2])
    code, said = validated(tmp_path, schema(PAPER, binding), data, capsys)
    assert code == 2
    assert "--original FILE" in said
    assert "The rule calls it 'microdata.xml': no file is opened" in said


def test_it_is_said_which_file_is_taken_for_the_one_that_the_rule_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = "<D><Record><V1>1</V1></Record><Record><V1>2</V1></Record></D>"
    (tmp_path / "data.xml").write_text(records)
    (tmp_path / "rules.sch").write_text(schema(PAPER))
    original, named = tmp_path / "original.xml", tmp_path / "microdata.xml"

    def said(file: Path) -> str:
        arguments = ["--edits", str(tmp_path / "rules.sch"), "--original", str(file)]
        assert main(["validate", str(tmp_path / "data.xml"), *arguments]) == 0
        return " ".join(capsys.readouterr().err.split())

    original.write_text(records)
    notice = "document('microdata.xml') stands for the original: original.xml is taken for it"
    assert said(original).count(notice) == 1
    named.write_text(records.replace("2", "3"))
    assert notice in said(original)
    # The same bytes, or the very file: nothing has to be said.
    named.write_text(records)
    assert "stands for" not in said(original)
    assert "stands for" not in said(named)
    # Names that are no file, and files elsewhere, are not opened.
    for name in ("http://example.org/a.xml", "", "..", "/dev/zero", "x" * 5000):
        (tmp_path / "rules.sch").write_text(schema(PAPER.replace("microdata.xml", name)))
        assert "stands for the original: original.xml is taken for it" in said(original)


@pytest.mark.parametrize(
    "test",
    [
        "V1 = document('m.xml')//V1", "document('m.xml')/D/Record/V1 = V1", "exists(index-of(doc('m.xml')//V1, V1))",
        "not(V2 &gt; 5) or V1 = document('m.xml')//Record/V1",
    ],
)  # fmt: skip
def test_forms_of_the_domain_rule(tmp_path: Path, test: str) -> None:
    path = tmp_path / "rules.sch"
    path.write_text(schema(rule(test)))
    (edit,) = read_schematron(path)
    assert edit.kind in ("domain", "governing")
    assert edit.engine is None


# Hostile schemas


CANARY = "canary-4711"
REACHING = [
    "document('{0}')",
    "document('{0}')//x",
    "document(V1)",
    "doc('{0}') = 1",
    "unparsed-text('{0}') = 'x'",
    "unparsed-text-lines('{0}')",
    "doc-available('{0}')",
    "collection('{0}')",
    "uri-collection('{0}')",
    "environment-variable('HOME') = 'x'",
    "available-environment-variables()",
    "json-doc('{0}')",
    "transform(map {{}})",
    "load-xquery-module('x')",
    "parse-xml(V1)",
    "parse-xml-fragment(V1)",
    "function-lookup(QName('x', 'doc'), 1)",
    "doc#1('{0}')",
    "system-property('os')",
    "Q{{http://www.w3.org/2005/xpath-functions}}doc('{0}')",
    "fn:doc('{0}')",
    "trace(V1)",
    "error()",
    "key('k', 1)",
    "id('x')",
    "system:getenv('x')",
    "saxon:evaluate('1')",
    "random-number-generator()",
    "unparsed-entity-uri('x')",
    "V1/document('{0}')",
    "for $f in doc#1 return $f('{0}')",
    "(: c :) 1",
    "V1 => doc()",
    "exslt:node-set(V1)",
    "static-base-uri()",
    "base-uri(.)",
]


@pytest.mark.parametrize("binding", ["xslt", "xslt3"])
@pytest.mark.parametrize("test", REACHING)
def test_nothing_that_reaches_out_gets_to_an_engine(tmp_path: Path, test: str, binding: str) -> None:
    secret = tmp_path / "secret.xml"
    secret.write_text(f"<x>{CANARY}</x>")
    written = test.format(secret.as_uri())
    path = tmp_path / "rules.sch"
    body = f'<ns prefix="system" uri="urn:x"/><ns prefix="exslt" uri="http://exslt.org/common"/>{rule("PLACE")}'
    path.write_text(schema(body, binding).replace("PLACE", written.replace("&", "&amp;").replace("<", "&lt;")))
    with pytest.raises(EditError) as caught:
        read_schematron(path)
    assert CANARY not in str(caught.value)


SHEETS = {
    "document": "<xsl:value-of select=\"document('{0}')\"/>",
    "include": "",
    "write": '<xsl:result-document href="{1}" xmlns:x="x">x</xsl:result-document>',
    "text": "<xsl:value-of select=\"unparsed-text('{0}')\"/>",
    "environment": "<xsl:value-of select=\"environment-variable('MASKWRIGHT_CANARY')\"/>",
}


@pytest.mark.parametrize("engine", ["lxml", pytest.param("saxon", marks=needs_saxon)])
@pytest.mark.parametrize("attack", SHEETS)
def test_the_engines_themselves_are_shut_off(
    tmp_path: Path, engine: Any, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second lock: stylesheets that our screening would never let through."""
    monkeypatch.setenv("MASKWRIGHT_CANARY", CANARY)
    secret, target = tmp_path / "secret.xml", tmp_path / "written.txt"
    secret.write_text(f"<x>{CANARY}</x>")
    top = f'<xsl:include href="{secret.as_uri()}"/>' if attack == "include" else ""
    body = SHEETS[attack].format(secret.as_uri(), target.as_uri())
    version = "1.0" if engine == "lxml" else "3.0"
    sheet = (
        f'<xsl:stylesheet version="{version}" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">{top}'
        f'<xsl:output method="text"/><xsl:template match="/">{body}</xsl:template></xsl:stylesheet>'
    )
    with EngineProcess(engine) as process:
        (reason,) = process.reasons([sheet])
        answer = process.answer({"apply": "<D/>"}, 30) if reason is None else {}
        entity = f'<!DOCTYPE D [<!ENTITY e SYSTEM "{secret.as_uri()}">]><D>&e;</D>'
        copied = process.answer({"apply": entity}, 30)
    assert CANARY not in json.dumps([reason, answer, copied])
    assert not target.exists()


def test_screening_counts_and_nests(tmp_path: Path) -> None:
    limits = SchematronOptions(max_expression=100, max_nesting=10)
    assert screen("a" * 101, "1.0", {}, limits).reason is not None
    assert screen("count(" * 11 + "a" + ")" * 11, "1.0", {}, limits).reason is not None
    assert screen("a = " + "1 + " * 1500 + "1", "1.0", {}, SchematronOptions()).reason is not None
    assert screen("contains(a, 'x')", "1.0", {}, limits).reason is None


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("contains(a, '/')", True), ("a/b = 1", True), ("sum(a | b) > 2", True), (".//a", True), ("a[1] = 2", True),
        ("/D/a", False), ("//a", False), ("../a", False), ("preceding-sibling::R", False), ("position() = 1", False),
        ("a = //b", False), ("count(/*) = 1", False), ("parent::D", False), ("last()", False), ("a[. = //b]", False),
        ("a div /b", False), ("(/)", False),
    ],
)  # fmt: skip
def test_what_stays_in_a_record(text: str, stays: bool) -> None:
    screening = screen(text, "1.0", {}, SchematronOptions())
    assert (screening.reason, screening.stays_in_record) == (None, stays)


def test_an_attribute_cannot_break_out_of_the_stylesheet(tmp_path: Path) -> None:
    test = "contains(V1, '\"/&gt;&lt;xsl:message terminate=&quot;yes&quot;/&gt;')"
    path = tmp_path / "rules.sch"
    path.write_text(schema(rule("PLACE")).replace("PLACE", test.replace('"', "&quot;")))
    (edit,) = read_schematron(path)
    assert edit.engine is not None
    sheet = etree.fromstring(stylesheet_of(edit.engine.pattern, 2))
    assert not list(sheet.iter("{http://www.w3.org/1999/XSL/Transform}message"))


# In a masking run


@pytest.mark.parametrize(("longest", "released"), [(9, True), (2, False)])
@pytest.mark.waived("edit-may-be-wrong")
def test_a_masking_run_checks_them_on_the_result(tmp_path: Path, longest: int, released: bool) -> None:
    """Means of three are written with more characters than the rule allows: nothing is released."""
    import pandas as pd

    import maskwright as mw

    path = tmp_path / "rules.sch"
    path.write_text(schema(rule(f"string-length(V1) &lt;= {longest}") + rule("V1 &gt;= 0", name="b")))
    edits = mw.read_edits(path)
    data = pd.DataFrame(
        {"V1": [120.0 + 7 * v % 20 for v in range(20)], "V2": [float(7 * v % 20) ** 2 for v in range(20)]}
    )
    if released:
        masked = mw.protect(data, "microaggregation", edits=edits, seed=1, params={"k": 3})
        assert mw.validate(masked, edits).ok
    else:
        with pytest.raises(mw.EditViolation, match="a"):
            mw.protect(data, "microaggregation", edits=edits, seed=1, params={"k": 3})
