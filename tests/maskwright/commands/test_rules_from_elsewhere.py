"""Third-party Schematron, untouched, on XML with namespaces, attributes, nil: masked, released, valid elsewhere."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from lxml import etree, isoschematron

import maskwright as mw
from maskwright.cli.main import main

ISO = "http://purl.oclc.org/dsdl/schematron"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
RULES = f"""<schema xmlns="{ISO}" queryBinding="BINDING">
  <ns prefix="x" uri="urn:office:survey"/><ns prefix="y" uri="urn:office:totals"/><ns prefix="xsi" uri="{XSI}"/>
  <pattern id="persons"><rule context="x:person">
    <assert id="sum" test="number(x:wages) + number(x:pension) = number(y:income)">Parts and total</assert>
    <assert id="age" test="number(x:age) &gt;= 0 and number(x:age) &lt;= 120">Age</assert>
    <assert id="sex" test="x:sex = 'M' or x:sex = 'F'">Codes</assert>
    <assert id="wages" test="number(x:wages) &gt;= 0">Wages</assert>
    <assert id="pension" test="number(x:pension) &gt;= 0">Pension</assert>
    <assert id="unit" test="x:wages/@unit = 'EUR'">Currency</assert>
    <assert id="region" test="@region = 'N' or @region = 'S'">Region</assert>
    <assert id="nil" test="x:bonus/@xsi:nil = 'true' or string-length(x:bonus) &gt; 0">Bonus or nil</assert>
    <assert id="bonus" test="not(number(x:bonus) &lt; 0)">Bonus</assert>
    <report id="length" test="string-length(x:sex) &gt; 1">One letter</report>
  </rule></pattern>
</schema>
"""
PIPELINE = """maskwright: 1
data:
  source: survey.xml
  record: person
  variables:
    '@id': {role: identifier}
    '@region': {role: other}
    'wages/@unit': {role: other}
    age: {role: quasi_identifier}
    sex: {role: other}
edits: [{schematron: rules.sch}]
protect:
  - {method: microaggregation, variables: [age, wages, pension, income], params: {k: 3}}
  - {method: microaggregation, variables: [bonus], params: {k: 3}}
output: {data: masked.xml}
seed: 1
"""


@pytest.fixture(params=["xslt", "xslt2"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    draw = random.Random(5)
    rows = []
    for number in range(60):
        wages, pension = draw.randrange(4000), draw.randrange(900)
        bonus = draw.choice(['<s:bonus xsi:nil="true"/>', f"<s:bonus>{draw.randrange(300)}</s:bonus>"])
        rows.append(
            f'<s:person id="{number}" region="{draw.choice("NS")}"><s:age>{draw.randrange(16, 95)}</s:age>'
            f'<s:sex>{draw.choice("MF")}</s:sex><s:wages unit="EUR">{wages}</s:wages><s:pension>{pension}</s:pension>'
            f"<t:income>{wages + pension}</t:income>{bonus}</s:person>"
        )
    spaces = f'xmlns:s="urn:office:survey" xmlns:t="urn:office:totals" xmlns:xsi="{XSI}"'
    (tmp_path / "survey.xml").write_text(f'<s:survey {spaces} year="2024">{"".join(rows)}</s:survey>')
    (tmp_path / "rules.sch").write_text(RULES.replace("BINDING", request.param))
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    return tmp_path


def test_what_is_released_is_valid_under_every_engine(office: Path) -> None:
    masked, rules = office / "masked.xml", office / "rules.sch"
    record = mw.run(office / "pipeline.yaml").record
    kept = {each["name"]: each["kind"] for each in record["edits"]}
    assert (kept["sum"], kept["age"], kept["nil"]) == ("linear", "range", "checked")
    for binding in ("xslt", "xslt2"):
        outcome = mw.validate_document(masked, rules, query_binding=binding)
        assert (outcome.ok, outcome.fired) == (True, 60)
    # The processor of lxml knows XSLT 1 alone.
    plain = etree.fromstring(rules.read_text().replace('"xslt2"', '"xslt"'))
    assert isoschematron.Schematron(plain).validate(etree.parse(masked))
    root = etree.parse(masked).getroot()
    assert root.tag == "{urn:office:survey}survey"
    assert [child.tag for child in root[0]] == [
        *(f"{{urn:office:survey}}{name}" for name in ("age", "sex", "wages", "pension")),
        "{urn:office:totals}income", "{urn:office:survey}bonus",
    ]  # fmt: skip
    assert set(root[0].attrib) == {"region"}
    original = etree.parse(office / "survey.xml").getroot()
    assert [each[5].get(f"{{{XSI}}}nil") for each in root] == [each[5].get(f"{{{XSI}}}nil") for each in original]


def test_an_attribute_that_is_not_declared_does_not_leave(office: Path) -> None:
    text = (office / "pipeline.yaml").read_text().replace("    'wages/@unit': {role: other}\n", "")
    (office / "pipeline.yaml").write_text(text)
    with pytest.raises(mw.MaskwrightError, match="published-undeclared: wages/@unit"):
        mw.run(office / "pipeline.yaml")
    assert not (office / "masked.xml").exists()


def test_all_commands_read_the_rules_alike(office: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, rules = office / "survey.xml", office / "rules.sch"
    broken = data.read_text().replace('unit="EUR"', 'unit="USD"', 2)
    data.write_text(broken)
    assert main(["validate", str(data), "--edits", str(rules), "--record", "person", "--json"]) == 1
    found = {each["name"]: each["violations"] for each in json.loads(capsys.readouterr().out)["edits"]}
    assert found == mw.validate_document(data, rules).counts
    assert main(["edits", str(rules), "--data", str(data), "--record", "person", "--json"]) == 0
    listed = {each["name"]: each["violations"] for each in json.loads(capsys.readouterr().out)["edits"]}
    assert {name: count for name, count in listed.items() if count} == {"unit": 2}
    assert main(["describe", str(data), "--record", "person"]) == 0
    assert "wages/@unit" in capsys.readouterr().out


UNDECIDABLE = f"""<schema xmlns="{ISO}" queryBinding="xslt2"><ns prefix="o" uri="urn:office"/>
<pattern><rule context="o:Record">
  <assert id="sum" test="xs:decimal(o:a) + xs:decimal(o:b) eq xs:decimal(o:t)">Sum</assert>
  <assert id="limit" test="o:t/xs:decimal(.) le xs:decimal(@limit)">Limit</assert>
  <assert id="code" test="xs:integer(o:code) ge 0">Code</assert>
</rule></pattern></schema>"""


def test_a_test_that_cannot_be_decided_on_a_record_stops_as_a_violation_and_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    draw, rows = random.Random(2), []
    for number in range(30):
        one, other, code = draw.randrange(90), draw.randrange(90), "secret" if number == 6 else number % 3
        cells = f"<p:a>{one}</p:a><p:b>{other}</p:b><p:t>{one + other}</p:t><p:code>{code}</p:code>"
        rows.append(f'<p:Record limit="500">{cells}</p:Record>')
    Path("parts").mkdir()
    for name, of_file in (("data.xml", rows), ("parts/a.xml", rows[:5]), ("parts/b.xml", rows[5:])):
        Path(name).write_text(f'<p:Data xmlns:p="urn:office">{"".join(of_file)}</p:Data>')
    Path("rules.sch").write_text(UNDECIDABLE)
    why = "its test cannot be evaluated on record {} (FORG0001: a value cannot be cast)"
    places = {"data.xml": ("7", "/p:Data/p:Record[7]"), "parts": ("b.xml:2", "doc('b.xml')/p:Data/p:Record[2]")}
    for data, (record, location) in places.items():
        assert main(["validate", data, "--edits", "rules.sch", "--json", "--svrl", f"{data}.svrl"]) == 1
        found = {each["name"]: each for each in json.loads(capsys.readouterr().out)["edits"]}
        assert found["code"]["undecidable"] == [why.format(record)]
        assert [(each["violations"], each["fired"], each["checked_by"]) for each in found.values()] == [
            (0, 30, "saxon"), (0, 30, "saxon"), (1, 30, "saxon"),
        ]  # fmt: skip
        report = etree.parse(f"{data}.svrl")
        instruction = f'undecidable id="code" code="FORG0001" location="{location}"'
        assert [each.text for each in report.iter(etree.ProcessingInstruction)] == [instruction]
        assert not list(report.iter("{*}failed-assert"))
        Path("run.yaml").write_text(
            f"maskwright: 1\ndata: {{source: {data}, record: Record, variables: {{'@limit': {{role: other}}, "
            "code: {role: other, type: nominal}}}\nedits: [{schematron: rules.sch}]\n"
            "protect: [{method: microaggregation, params: {k: 3}}]\noutput: {data: out}\nseed: 1\n"
        )
        assert main(["run", "run.yaml"]) == 1
        said = " ".join(capsys.readouterr().err.split())
        assert "edit 'code' does not hold in 1 of 30 masked records " + why.format(7) in said
        assert "secret" not in said
        assert not Path("out").exists()


def test_messages_are_filled_in_by_the_names_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "d.xml").write_text('<f xmlns:a="urn:a" xmlns:b="urn:b"><r><a:n>7</a:n><b:n>8</b:n></r></f>')
    body = '<ns prefix="p" uri="urn:b"/><pattern><rule context="r"><assert id="t" test="p:n = 1">has '
    (tmp_path / "r.sch").write_text(
        f'<schema xmlns="{ISO}">{body}<value-of select="p:n"/></assert></rule></pattern></schema>'
    )
    report = tmp_path / "o.svrl"
    given = [str(tmp_path / "d.xml"), "--edits", str(tmp_path / "r.sch"), "--record", "r"]
    assert main(["validate", *given, "--svrl", str(report)]) == 1
    assert "has 8" in report.read_text()


def test_a_rule_about_an_element_of_records_is_not_passed_over(office: Path) -> None:
    body = """<rule context="x:wages"><assert id="unit" test="@unit = 'USD'">m</assert></rule>"""
    rules = (office / "rules.sch").read_text()
    start, end = rules.index("<rule"), rules.index("</pattern>")
    (office / "cell.sch").write_text(rules[:start] + body + rules[end:])
    given = [str(office / "survey.xml"), "--edits", str(office / "cell.sch")]
    assert main(["validate", *given, "--document"]) == 1
    assert main(["validate", *given, "--record", "person"]) in (1, 2)


def test_a_schema_without_prefixes_is_about_no_namespace(office: Path) -> None:
    rules = (office / "rules.sch").read_text()
    for prefix in ("x:", "y:"):
        rules = rules.replace(f'"{prefix}', '"').replace(f" {prefix}", " ").replace(f"({prefix}", "(")
    (office / "plain.sch").write_text(rules)
    given = [str(office / "survey.xml"), "--edits", str(office / "plain.sch")]
    assert main(["validate", *given, "--record", "person"]) == 2
    assert main(["validate", *given, "--document"]) == 2
    (office / "pipeline.yaml").write_text(PIPELINE.replace("rules.sch", "plain.sch"))
    with pytest.raises(mw.InputError, match="ever fired"):
        mw.run(office / "pipeline.yaml")


S = "secret"
HOSTILE = {
    "entity": f'<!DOCTYPE f [<!ENTITY e "{S}">]><f><r a="&e;"><n>1</n></r><r><n>1</n></r></f>',
    "external entity": '<!DOCTYPE f [<!ENTITY e SYSTEM "file:///etc/passwd">]><f><r><n>&e;</n></r><r><n>1</n></r></f>',
    "attribute defaults": f'<!DOCTYPE f [<!ATTLIST r a CDATA "{S}">]><f><r><n>1</n></r><r><n>1</n></r></f>',
    "stylesheet": f'<?xml-stylesheet href="http://{S}.example/x.xsl"?><f><r a="{S}"><n>-1</n></r><r><n>1</n></r></f>',
    "schema location": f'<f xmlns:i="{XSI}"><r i:schemaLocation="{S} http://x.example"><n>-1</n></r><r><n>1</n></r></f>',
    "inclusion": f'<f xmlns:x="http://www.w3.org/2001/XInclude"><r><x:include href="{S}"/><n>-1</n></r></f>',
    "base": f'<f><r xml:base="http://{S}.example/"><n>-1</n></r><r><n>1</n></r></f>',
    "id": f'<f><r xml:id="{S}"><n>-1</n></r><r xml:id="{S}2"><n>1</n></r></f>',
    "nil that says otherwise": f'<f xmlns:i="{XSI}"><r><n i:nil="{S}">-1</n></r><r><n>1</n></r></f>',
    "nil of a record": f'<f xmlns:i="{XSI}"><r i:nil="true"><n>-1</n></r><r><n>1</n></r></f>',
    "nil with a text": f'<f xmlns:i="{XSI}"><r><n i:nil="true">{S}</n></r><r><n>1</n></r></f>',
    "nil in another namespace": f'<f xmlns:i="urn:{S}"><r><n i:nil="true">-1</n></r><r><n>1</n></r></f>',
    "quotes in an attribute": f"<f><r a='\"&lt;{S} b=\"'><n>-1</n></r><r><n>1</n></r></f>",
    "line in an attribute": f'<f><r a="{S}&#10;&#13;&#9;x"><n>-1</n></r><r><n>1</n></r></f>',
    "name of a function": f'<f><r document="{S}"><n>-1</n></r><r><n>1</n></r></f>',
    "prefix of XSLT": f'<f xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><r xsl:a="{S}"><n>-1</n></r></f>',
    "prefix of ours": f'<f xmlns:maskwright.engine="urn:{S}"><r maskwright.engine:a="1"><n>-1</n></r></f>',
    "same name in two namespaces": f'<f xmlns:a="urn:{S}"><r><a:n>1</a:n><n>-1</n></r><r><n>1</n></r></f>',
    "record of another namespace": f'<f xmlns:a="urn:{S}"><r><n>-1</n></r><a:r><n>1</n></a:r><r><n>1</n></r></f>',
    "declared again": f'<f><r xmlns="urn:{S}"><n xmlns="">-1</n></r><r><n>1</n></r></f>',
    "unbound": f'<f><r z:a="{S}"><n>1</n></r><r><n>1</n></r></f>',
    "mixed": f"<f><r><n>-1<!-- {S} -->2</n></r><r><n>1</n></r></f>",
    "attribute of two megabytes": f'<f><r a="{"7" * 2_000_000}"><n>1</n></r><r><n>1</n></r></f>',
    "many attributes": "<f><r " + " ".join(f'a{i}="{S}"' for i in range(10_001)) + "><n>1</n></r><r><n>1</n></r></f>",
    "deep": "<f><r><n>1</n></r>" + "<h a='1'>" * 300 + S + "</h>" * 300 + "<r><n>1</n></r></f>",
}  # fmt: skip
POSITIVE = (
    f'<schema xmlns="{ISO}"><pattern><rule context="r"><assert id="p" test="TEST">m</assert></rule></pattern></schema>'
)


@pytest.mark.parametrize("test", ["n &gt; 0", "count(n) = 1 and n &gt; 0 and not(contains(n, 'x'))"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_records_are_refused_or_judged_as_lxml_judges_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, test: str
) -> None:
    data, rules = tmp_path / "d.xml", tmp_path / "r.sch"
    data.write_text(HOSTILE[name], encoding="utf-8")
    rules.write_text(POSITIVE.replace("TEST", test))
    code = main(["validate", str(data), "--edits", str(rules), "--record", "r"])
    shown = capsys.readouterr()
    assert S not in shown.out + shown.err
    if code != 2:
        schema = isoschematron.Schematron(etree.parse(rules))
        assert schema.validate(etree.parse(data)) == (code == 0)


def test_the_hostile_files_that_are_no_records_are_refused(tmp_path: Path) -> None:
    refused = set()
    for name, text in HOSTILE.items():
        (tmp_path / "d.xml").write_text(text, encoding="utf-8")
        try:
            mw.read(tmp_path / "d.xml", record="r")
        except mw.InputError:
            refused.add(name)
    assert refused == {
        "entity", "external entity", "attribute defaults", "nil with a text", "unbound", "many attributes", "deep",
        "attribute of two megabytes",
    }  # fmt: skip
