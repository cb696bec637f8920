"""``maskwright validate --document``: what it prints, what it refuses, and that it cannot be made to reach out."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from lxml import etree, isoschematron

import maskwright as mw
from maskwright.cli.main import main

ISO = "http://purl.oclc.org/dsdl/schematron"
SVRL = {"svrl": "http://purl.oclc.org/dsdl/svrl"}
BINDINGS = ("xslt", "xslt2")


def files(
    folder: Path, body: str, document: str | bytes = "<a><b k='1'/><b/></a>", binding: str = "xslt"
) -> tuple[str, str]:
    """Document and schema, as names."""
    schema, data = folder / "rules.sch", folder / "report.xml"
    schema.write_text(f'<schema xmlns="{ISO}" queryBinding="{binding}">{body}</schema>', encoding="utf-8")
    data.write_bytes(document if isinstance(document, bytes) else document.encode())
    return str(data), str(schema)


def validated(capsys: pytest.CaptureFixture[str], data: str, schema: str, *more: str) -> tuple[int, Any, str]:
    """Exit code, what was printed as JSON, and what was said."""
    code = main(["validate", data, "--edits", schema, "--document", "--json", *more])
    captured = capsys.readouterr()
    return code, json.loads(captured.out) if captured.out else None, captured.err


def rule(test: str = "@k", context: str = "b", more: str = "") -> str:
    return f'<pattern><rule context="{context}"><assert id="priced" {more} test="{test}">told</assert></rule></pattern>'


def test_json_says_what_every_test_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found, _ = validated(capsys, *files(tmp_path, rule()))
    assert code == 1
    assert found == {
        "document": True,
        "ok": False,
        "phase": "#ALL",
        "violations": 1,
        "edits": [
            {
                "name": "priced",
                "kind": "assert",
                "severity": "error",
                "violations": 1,
                "fired": 2,
                "checked_by": "lxml",
                "first_locations": ["/a/b[2]"],
            }
        ],
    }


def test_what_holds_is_exit_0_and_a_warning_does_not_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert validated(capsys, *files(tmp_path, rule("true()")))[0] == 0
    code, found, _ = validated(capsys, *files(tmp_path, rule(more="role='warning'")))
    assert code == 0
    assert found["violations"] == 1
    assert found["edits"][0]["severity"] == "warning"


def test_nothing_fired_is_an_error_unless_it_is_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, schema = files(tmp_path, rule(context="z"))
    svrl = tmp_path / "out.svrl"
    code, _, said = validated(capsys, data, schema, "--svrl", str(svrl))
    assert code == 2
    assert "no rule ever fired" in said
    assert not svrl.exists()
    code, found, _ = validated(capsys, data, schema, "--svrl", str(svrl), "--allow-unfired")
    assert code == 0
    assert found["edits"][0]["fired"] == 0
    assert svrl.exists()


def test_locations_lead_to_the_nodes_among_many_siblings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Siblings of three names and two namespaces, in small and large groups; alone, an element has no number."""
    three = "<b k='1'/><c/><b/>"
    groups = "".join(f"<g><x:b xmlns:x='urn:x'/>{three * size}<only><b/></only></g>" for size in (1, 3, 140))
    data, schema = files(tmp_path, rule(), f"<a>{groups}</a>")
    report = tmp_path / "report.svrl"
    code, found, _ = validated(capsys, data, schema, "--svrl", str(report))
    tree = etree.parse(data)
    wanted = [each for each in tree.iter("b") if each.get("k") is None]
    locations = [each.get("location") for each in etree.parse(report).iter("{*}failed-assert")]
    assert (code, found["violations"], len(locations)) == (1, 147, 147)
    assert [tree.xpath(each) for each in locations] == [[each] for each in wanted]
    assert locations[1] == "/a/g[1]/only/b"


@pytest.mark.parametrize("binding", BINDINGS)
def test_messages_carry_values_and_are_shown_only_when_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], binding: str
) -> None:
    body = rule("false()").replace("told", "k is <value-of select='@k'/>")
    data, schema = files(tmp_path, body, "<a><b k='secret'/></a>", binding)
    assert main(["validate", data, "--edits", schema, "--document"]) == 1
    assert "secret" not in "".join(capsys.readouterr())
    assert main(["validate", data, "--edits", schema, "--document", "--json"]) == 1
    assert "secret" not in "".join(capsys.readouterr())
    assert main(["validate", data, "--edits", schema, "--document", "--show-values"]) == 1
    assert "k is secret" in capsys.readouterr().out
    svrl = tmp_path / "out.svrl"
    assert validated(capsys, data, schema, "--svrl", str(svrl))[0] == 1
    assert "secret" in svrl.read_text()
    if os.name == "posix":
        assert svrl.stat().st_mode & 0o077 == 0


def test_python_gives_the_same(tmp_path: Path) -> None:
    data, schema = files(tmp_path, rule())
    outcome = mw.validate_document(data, schema, phase="#ALL", show_values=True)
    assert not outcome.ok
    assert outcome.counts == {"priced": 1}
    assert outcome.edits[0].first_messages == ("told",)
    with pytest.raises(mw.InputError, match="did you mean 'phase'"):
        mw.validate_document(data, schema, phas="x")


HOSTILE = {
    "doctype": b"<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a><b k='1'/>&x;</a>",
    "depth": b"<a>" + b"<b k='1'>" * 100 + b"</b>" * 100 + b"</a>",
    "text": b"<a><b k='1'>" + b"x" * (2**20 + 1) + b"</b></a>",
    "attribute": b"<a><b k='" + b"x" * (2**20 + 1) + b"'/></a>",
    "comment": b"<a><!--" + b"x" * (2**20 + 1) + b"--><b k='1'/></a>",
    "encoding": b"<?xml version='1.0' encoding='UTF-7'?><a><b k='1'/></a>",
    "not well-formed": b"<a><b k='1'></a>",
    "empty": b"",
    "no XML": b"a,b\n1,2\n",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_documents_are_refused_before_an_engine_sees_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    data, schema = files(tmp_path, rule(), HOSTILE[kind])
    svrl = tmp_path / "out.svrl"
    code, found, said = validated(capsys, data, schema, "--svrl", str(svrl))
    assert code == 2
    assert found is None
    assert data in said
    assert not svrl.exists()


def test_depth_100_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = b"<a>" + b"<b k='1'>" * 99 + b"</b>" * 99 + b"</a>"
    code, found, _ = validated(capsys, *files(tmp_path, rule(), document))
    assert (code, found["edits"][0]["fired"]) == (0, 99)


def test_101_megabytes_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, schema = files(tmp_path, rule())
    with Path(data).open("r+b") as file:
        file.truncate(101 * 2**20)
    code, _, said = validated(capsys, data, schema)
    assert code == 2
    assert "over 100 MB" in said


@pytest.mark.parametrize("binding", BINDINGS)
def test_an_endless_test_is_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str], binding: str) -> None:
    counts = "count(//b[count(//b[count(//b[count(//b[@k]) = 1]) = 1]) = 1]) = 1"
    if binding != "xslt":
        # An engine that optimises counts an absolute path once; what depends on two numbers it works out 1e11 times.
        counts = "sum(for $i in 1 to 1000000, $j in 1 to 100000 return ($i * $j) mod 7) = 1"
    data, schema = files(tmp_path, rule(counts), "<a>" + "<b/>" * 3000 + "</a>", binding)
    svrl = tmp_path / "out.svrl"
    code, _, said = validated(capsys, data, schema, "--option", "max_seconds=3", "--svrl", str(svrl))
    assert code == 2
    assert "more than 3 seconds" in said
    assert not svrl.exists()


def test_a_test_that_eats_memory_is_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = rule("string-length(string-join((1 to 400000000) ! string(.), $x)) = 1", more="").replace(
        "<assert", "<let name='x' value=\"'-'\"/><assert"
    )
    data, schema = files(tmp_path, body, binding="xslt3")
    code, _, said = validated(capsys, data, schema, "--option", "max_memory=300", "--option", "max_seconds=60")
    assert code == 2
    assert "max_memory" in said


REACH_OUT = {
    "document": ("xslt", "document('{path}')/x"),
    "document in a path": ("xslt", "boolean(document ('{path}')/x)"),
    "doc": ("xslt3", "doc('{path}')/x"),
    "doc by prefix": ("xslt3", "fn:doc('{path}')/x"),
    "doc by namespace": ("xslt3", "Q{{http://www.w3.org/2005/xpath-functions}}doc('{path}')/x"),
    "doc as a value": ("xslt3", "for-each('{path}', doc#1)/x"),
    "doc behind a comment": ("xslt3", "doc(: :)('{path}')/x"),
    "doc looked up": ("xslt3", "function-lookup(xs:QName('fn:doc'), 1)('{path}')/x"),
    "text": ("xslt3", "unparsed-text('{path}')"),
    "collection": ("xslt3", "collection('{path}')"),
    "evaluated": ("xslt", "dyn:evaluate('1')"),
    "parsed": ("xslt3", "parse-xml('&lt;x/&gt;')"),
    "transformed": ("xslt3", "transform(map{{}})"),
    "environment": ("xslt3", "environment-variable('PATH')"),
}


@pytest.mark.parametrize("kind", REACH_OUT)
def test_no_expression_reaches_out(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    binding, test = REACH_OUT[kind]
    (tmp_path / "secret.xml").write_text("<x/>")
    body = '<ns prefix="dyn" uri="http://exslt.org/dynamic"/>' + rule(
        test.format(path=(tmp_path / "secret.xml").as_uri())
    )
    code, _, said = validated(capsys, *files(tmp_path, body, binding=binding))
    assert code == 2
    assert "rules.sch:1" in said


@pytest.mark.parametrize("binding", BINDINGS)
def test_marks_in_the_document_are_not_taken_for_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], binding: str
) -> None:
    xsl = "xmlns:xsl='http://www.w3.org/1999/XSL/Transform'"
    body = (
        f"<pattern><rule context='a'><report test='b'>x <xsl:copy-of {xsl} select='node()'/></report></rule></pattern>"
    )
    document = "<a><?maskwright v 0?><b/><?maskwright f 0?><?maskwright e 0 X Y?></a>"
    code, found, _ = validated(capsys, *files(tmp_path, body, document, binding))
    assert code == 1
    assert (found["edits"][0]["violations"], found["edits"][0]["fired"]) == (1, 1)


def test_what_cannot_be_evaluated_names_rule_and_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = "<a><b k='12'/><b k='secret'/></a>"
    given = files(
        tmp_path, rule("xs:integer(@k) = 12") + rule("@k = '12'").replace("priced", "other"), document, "xslt2"
    )
    svrl = tmp_path / "out.svrl"
    code, found, said = validated(capsys, *given, "--svrl", str(svrl))
    first, other = found["edits"]
    assert (code, found["ok"], first["violations"], first["fired"]) == (1, False, 1, 2)
    why = "its test cannot be evaluated at /Q{}a[1]/Q{}b[2] (FORG0001: a value cannot be cast)"
    assert (first["undecidable"], first["first_locations"]) == ([why], ["/Q{}a[1]/Q{}b[2]"])
    assert "secret" not in said + json.dumps(found)
    instruction = '<?maskwright undecidable id="priced" code="FORG0001" location="/Q{}a[1]/Q{}b[2]"?>'
    assert instruction in svrl.read_text()
    assert (other["violations"], other["fired"], "undecidable" in other) == (1, 2, False)
    assert main(["validate", given[0], "--edits", given[1], "--document"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert f"priced cannot be decided: {why}" in shown
    code, _, said = validated(capsys, *files(tmp_path, rule("count(string(@k))"), document))
    assert code == 2
    assert "XPATH_INVALID_TYPE" in said


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_long_text_is_checked_where_the_limit_is_raised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], binding: str
) -> None:
    data, schema = files(tmp_path, rule("@k"), HOSTILE["text"], binding)
    code, _, said = validated(capsys, data, schema)
    assert (code, "--option max_text=N" in said) == (2, True)
    assert validated(capsys, data, schema, "--option", "max_text=2000000")[0] == 0
    assert mw.validate_document(data, schema, max_text=2**21).ok


def test_the_query_binding_can_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, schema = files(tmp_path, rule("exists(@k) or not(@k castable as xs:integer)"))
    assert validated(capsys, data, schema)[0] == 2
    code, found, _ = validated(capsys, data, schema, "--option", "query_binding=xslt2")
    assert (code, found["edits"][0]["checked_by"]) == (0, "saxon")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
@pytest.mark.parametrize("binding", BINDINGS)
def test_encodings(tmp_path: Path, capsys: pytest.CaptureFixture[str], encoding: str, binding: str) -> None:
    declared = encoding.removesuffix("-sig")
    document = f"<?xml version='1.0' encoding='{declared}'?>\r\n<a><b k='Zoë'/></a>".encode(encoding)
    code, _, said = validated(capsys, *files(tmp_path, rule("@k = 'Zoë'"), document, binding))
    assert code == 0, said


def test_options_about_records_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, schema = files(tmp_path, rule())
    for more in (["--original", data], ["--fired", "all"], ["--record", "b"], ["--allow-unknown"], ["--cluster", "b"]):
        assert validated(capsys, data, schema, *more)[0] == 2
    assert main(["validate", data, "--edits", schema, "--edits", schema, "--document"]) == 2
    assert main(["validate", data, "--edits", schema, "--show-values"]) == 2
    capsys.readouterr()


def test_the_report_does_not_overwrite_what_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, schema = files(tmp_path, rule())
    for path in (data, schema):
        before = Path(path).read_bytes()
        assert validated(capsys, data, schema, "--svrl", path)[0] == 2
        assert Path(path).read_bytes() == before


def test_included_rules_come_from_the_declared_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "more.sch").write_text(
        f'<pattern xmlns="{ISO}"><rule context="a"><report test="b">x</report></rule></pattern>'
    )
    data, schema = files(tmp_path, '<include href="more.sch"/>')
    assert validated(capsys, data, schema)[0] == 2
    code, found, _ = validated(capsys, data, schema, "--include", str(tmp_path))
    assert (code, found["violations"]) == (1, 1)


@pytest.mark.parametrize("binding", BINDINGS)
def test_other_documents_come_from_the_declared_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, binding: str
) -> None:
    (tmp_path / "parts").mkdir()
    other = tmp_path / "parts" / "part 1.xml"
    other.write_text("<b><b k='1'/><b/></b>")
    body = '<pattern documents="/a/@of"><rule context="b"><assert test="@k">x</assert></rule></pattern>'
    data, schema = files(tmp_path, body, "<a of='parts/part%201.xml'/>", binding)
    monkeypatch.chdir(tmp_path)
    code, _, said = validated(capsys, data, schema)
    assert code == 2
    assert "--option document_folder=FOLDER" in said
    svrl = tmp_path / "out.svrl"
    folder = "document_folder=parts"
    code, found, _ = validated(capsys, data, schema, "--option", folder, "--svrl", str(svrl))
    assert (code, found["violations"], found["edits"][0]["fired"]) == (1, 2, 3)
    places = found["edits"][0]["first_locations"]
    assert all(place.startswith("parts/part%201.xml: /") for place in places)
    assert places[1].endswith(("/b/b[2]", "/Q{}b[2]"))
    assert etree.parse(svrl).xpath("//svrl:active-pattern/@documents", namespaces=SVRL) == ["parts/part%201.xml"]
    assert mw.validate_document(data, schema, document_folder="parts").counts == found_counts(found)
    before = other.read_bytes()
    assert validated(capsys, data, schema, "--option", folder, "--svrl", str(other))[0] == 2
    assert other.read_bytes() == before


def found_counts(found: dict[str, Any]) -> dict[str, int]:
    return {edit["name"]: edit["violations"] for edit in found["edits"]}


def test_other_documents_are_no_way_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A link inside the folder leads nowhere either, and there are only so many."""
    folder = tmp_path / "parts"
    folder.mkdir()
    (tmp_path / "secret.xml").write_text("<b/>")
    (folder / "link.xml").symlink_to(tmp_path / "secret.xml")
    for number in range(101):
        (folder / f"{number}.xml").write_text("<b k='1'/>")
    body = '<pattern documents="/a/x/@of"><rule context="b"><assert test="@k">x</assert></rule></pattern>'
    named = [["parts/link.xml"], ["parts/../secret.xml"], [f"parts/{number}.xml" for number in range(101)]]
    for names, message in zip(
        named, ("outside the folder", "outside the folder", "at most 100 documents"), strict=True
    ):
        document = "<a>" + "".join(f"<x of='{name}'/>" for name in names) + "</a>"
        data, schema = files(tmp_path, body, document)
        code, _, said = validated(capsys, data, schema, "--option", f"document_folder={folder}")
        assert code == 2
        assert message in said


def test_python_and_command_line_include_from_the_same_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "more.sch").write_text(
        f'<pattern xmlns="{ISO}"><rule context="a"><assert test="b">x</assert></rule></pattern>'
    )
    data, schema = files(tmp_path / "rules", '<include href="more.sch"/>')
    monkeypatch.chdir(tmp_path)
    assert validated(capsys, data, schema, "--include", "rules")[0] == 0
    assert mw.validate_document(data, schema, include_folder="rules").ok
    assert len(mw.read_edits(schema, include_folder="rules")) == 1


@pytest.mark.parametrize(
    ("document", "body"),
    [
        ("<a><b><c><d k='1'/></c></b><b/></a>", rule(context="d")),  # elements in a cell
        ("<a><b><c>1</c></b><b><c>2</c></b></a>", rule("a", context="z")),  # no record is called so
        ("<a><b><c>1</c></b></a>", rule(". = 'text'", context="text()")),  # a rule about texts
    ],
)
def test_validating_records_names_the_way_where_there_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], document: str, body: str
) -> None:
    data, schema = files(tmp_path, body, document)
    assert main(["validate", data, "--edits", schema]) == 2
    assert f"maskwright validate {data} --edits {schema} --document" in capsys.readouterr().err


def test_a_mistake_in_a_name_is_one_of_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, schema = files(tmp_path, rule("number(cc) = 1"), "<a><b><c>1</c></b><b><c>2</c></b></a>")
    assert main(["validate", data, "--edits", schema]) == 2
    assert "--document" not in capsys.readouterr().err


def test_locations_lead_to_one_node_each(tmp_path: Path) -> None:
    document = """<a xmlns:m="urn:m" xmlns:n="urn:n"><m:b k="1" n:k="2"/><n:b/><b/><m:b/><!--x--><!--y-->t<m:b>u</m:b>v
    <?p q?><?q q?><?p z?><c/></a>"""
    data, schema = files(tmp_path, rule("false()", "node()|@*|/"), document)
    outcome = mw.validate_document(data, schema, svrl=tmp_path / "out.svrl")
    nodes = etree.parse(data)
    locations = etree.parse(tmp_path / "out.svrl").xpath("//@location")
    assert len(set(locations)) == len(locations) == outcome.fired
    assert locations[0] == "/"
    assert all(len(nodes.xpath(location)) == 1 for location in locations[1:])


def test_a_general_document_has_the_counts_of_isoschematron(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A book with chapters, namespaces, references by id, and mistakes of several kinds."""
    chapters = "".join(
        f"<chapter id='c{number}' pages='{number % 7}'><title>{'' if number % 11 == 0 else 'T'}</title>"
        f"<m:note to='c{number + 3 if number % 5 else 'x'}'/>{'<p/>' * (number % 4)}</chapter>"
        for number in range(1, 60)
    )
    document = f"<book xmlns:m='urn:m'>{chapters}</book>"
    body = """<ns prefix="m" uri="urn:m"/>
    <xsl:key xmlns:xsl="http://www.w3.org/1999/XSL/Transform" name="chapters" match="chapter" use="@id"/>
    <pattern id="chapters"><rule context="chapter[p]"><let name="n" value="count(p)"/>
      <assert test="$n &lt;= @pages">pages</assert><report test="$n = 3 and not(@pages mod 2)">even</report></rule>
      <rule context="chapter"><assert test="string(title)">title</assert></rule></pattern>
    <pattern id="notes"><rule context="m:note"><assert test="key('chapters', @to)">to</assert>
      <assert test="not(@to = ../@id)">self</assert></rule></pattern>
    <pattern><rule context="chapter/@pages"><assert test=". &gt; 0">some</assert></rule></pattern>"""
    data, schema = files(tmp_path, body, document)
    svrl = tmp_path / "out.svrl"
    code, found, _ = validated(capsys, data, schema, "--svrl", str(svrl))
    assert code == 1
    engine = isoschematron.Schematron(etree.parse(schema), store_report=True, validate_schema=False)
    engine.validate(etree.parse(data))
    ours, theirs = etree.parse(svrl), engine.validation_report
    for path in ("//svrl:failed-assert", "//svrl:successful-report", "//svrl:fired-rule", "//svrl:active-pattern"):
        assert len(ours.xpath(path, namespaces=SVRL)) == len(theirs.xpath(path, namespaces=SVRL)) > 0
    elements = "//svrl:failed-assert[not(contains(@location, '@pages'))]/@location"
    assert ours.xpath(elements, namespaces=SVRL) == theirs.xpath(elements, namespaces=SVRL)
    assert found["violations"] == len(ours.xpath("//svrl:failed-assert | //svrl:successful-report", namespaces=SVRL))
    nodes = etree.parse(data)
    for location in ours.xpath("//svrl:failed-assert/@location", namespaces=SVRL):
        assert len(nodes.xpath(location)) == 1
