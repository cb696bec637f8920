"""Schemas in several files or about several documents; abstract patterns, phases and reports by the standard."""

from __future__ import annotations

from schematron_cases import FAILED, FIRED, ONE, REPORTED, TWO, B, Case, holds, pattern, rule, tells

XSL = "xmlns:xsl='http://www.w3.org/1999/XSL/Transform'"
ISO = "xmlns='http://purl.oclc.org/dsdl/schematron'"
HOUSES = "<a><part of='one.xml'/><part of='two.xml'/></a>"
PARTS = {"one.xml": "<b><b k='1'/></b>", "two.xml": "<b k='2'/>"}
OTHERS = "documents='/a/part/@of'"


def schema(*content: str) -> str:
    """Text of a further schema."""
    return f"<schema {ISO}>{''.join(content)}</schema>"


CASES_OF_FILES = (
    # Several files
    Case(
        "include-element-by-id",
        pattern(rule("b", "<include href='o.sch#t'/>")),
        "invalid",
        files={"o.sch": schema(pattern(rule("c", holds("@k", of="id='t'"))))},
        finds={FAILED: 1},
        iso=False,
    ),
    Case(
        "include-element-by-xml-id",
        pattern(rule("b", "<include href='o.sch#t'/>")),
        "invalid",
        files={"o.sch": schema(pattern(rule("c", holds("@k", of="xml:id='t'"))))},
        finds={FAILED: 1},
        iso=False,
    ),
    Case(
        "extends-rule-by-xml-id",
        pattern(rule("b", "<extends href='o.sch#r'/>")),
        "invalid",
        files={"o.sch": schema(pattern("<rule abstract='true' xml:id='r'>", holds("@k"), "</rule>"))},
        finds={FAILED: 1},
        iso=False,
    ),
    Case(
        "include-unknown-id",
        pattern(rule("b", "<include href='o.sch#u'/>")),
        "error",
        files={"o.sch": schema(pattern(rule("c", holds("@k", of="xml:id='t'"))))},
        says="called 'u'",
    ),
    Case(
        "extends-library",
        "<extends href='o.sch'/>",
        "invalid",
        files={
            "o.sch": f"<library {ISO}><ns prefix='p' uri='urn:p'/>{pattern(rule('b', holds('@k | p:x')))}</library>"
        },
        finds={FAILED: 1, "//svrl:ns-prefix-in-attribute-values[@prefix = 'p']": 1},
        iso=False,
    ),
    Case(
        "library-extends-schema",
        "<extends href='o.sch'/>",
        "error",
        files={"o.sch": f"<library {ISO}><extends href='p.sch'/></library>", "p.sch": schema(pattern(B))},
        says="<library> cannot extend the <schema>",
    ),
    # A prefix means what its own file says, whatever the including schema means by it.
    Case(
        "prefix-of-the-included-file",
        "<ns prefix='p' uri='urn:other'/>" + pattern(rule("*", "<extends href='o.sch#r'/>", tells("self::p:a"))),
        "invalid",
        "<a xmlns='urn:p'/>",
        files={
            "o.sch": schema(
                "<ns prefix='p' uri='urn:p'/>",
                pattern("<rule abstract='true' id='r'>", tells("self::p:a and 'p:b' = 'p:b'"), "</rule>"),
            )
        },
        finds={
            "//svrl:successful-report[contains(@test, \"'p:b'\")]": 1,
            REPORTED: 1,
            "//svrl:ns-prefix-in-attribute-values": 2,
        },
        iso=False,
    ),
    Case(
        "prefix-of-the-included-file-alone",
        "<include href='o.sch#q'/>",
        "invalid",
        "<a xmlns='urn:p'><b/></a>",
        files={"o.sch": schema("<ns prefix='p' uri='urn:p'/>", pattern(rule("p:b", holds("@k")), of="xml:id='q'"))},
        finds={FAILED: 1},
        iso=False,
    ),
    # Other documents
    Case(
        "other-documents",
        pattern(rule("b", holds("@k")), of=OTHERS),
        "invalid",
        HOUSES,
        files=PARTS,
        finds={
            FIRED: 3,
            FAILED: 1,
            "//svrl:active-pattern[@documents = 'one.xml two.xml']": 1,
            "//svrl:fired-rule[@document = 'one.xml']": 2,
            "//svrl:fired-rule[@document = 'two.xml']": 1,
        },
        iso=False,
    ),
    Case(
        "other-documents-by-text-and-variable",
        "<let name='n' value=\"'.xml'\"/>" + pattern(rule("/b", holds("@k")), of="documents=\"concat('two', $n)\""),
        "valid",
        HOUSES,
        files=PARTS,
        finds={FIRED: 1},
        iso=False,
    ),
    Case(
        "variables-of-the-schema-are-of-the-document",
        "<let name='n' value='count(/a/part)'/>" + pattern(rule("/b", holds("$n = 2"), holds("not(/a)")), of=OTHERS),
        "valid",
        HOUSES,
        files=PARTS,
        finds={FIRED: 2},
        iso=False,
    ),
    Case(
        "keys-of-other-documents",
        f"<xsl:key {XSL} name='k' match='b' use='@k'/>"
        + pattern(rule("/b", holds("key('k', '1')"), holds("not(key('k', '3'))")), of=OTHERS)
        + pattern(rule("/a", holds("not(key('k', '1'))"))),
        "error",
        HOUSES,
        files=PARTS,
        bindings=ONE,
        says="key() in a pattern of other documents needs",
    ),
    Case(
        "keys-of-other-documents-in-two",
        f"<xsl:key {XSL} name='k' match='b' use='@k'/>"
        + pattern(rule("/b", holds("key('k', '1')"), holds("not(key('k', '3'))")), of=OTHERS)
        + pattern(rule("/a", holds("not(key('k', '1'))"))),
        "invalid",
        HOUSES,
        files=PARTS,
        finds={FIRED: 3, "//svrl:failed-assert[@test = \"key('k', '1')\"]": 1, FAILED: 1},
        bindings=TWO,
    ),
    Case(
        "main-document-is-reported",
        pattern(rule("/a", holds("z"))),
        "invalid",
        HOUSES,
        finds={
            "//svrl:active-pattern[@documents = 'document.xml']": 1,
            "//svrl:fired-rule[@document = 'document.xml']": 1,
        },
    ),
    Case(
        "part-of-a-phase-is-of-the-main-document",
        "<phase id='one' from='/a/none'><active pattern='p'/></phase>"
        + pattern(rule("/b", holds("@k")), of=f"id='p' {OTHERS}"),
        "invalid",
        HOUSES,
        files=PARTS,
        phase="one",
        finds={FIRED: 2, FAILED: 1},
        iso=False,
    ),
    Case(
        "abstract-pattern-of-other-documents",
        f"<pattern abstract='true' id='p' documents='$d'>{rule('/b', holds('@k'))}</pattern>"
        "<pattern is-a='p'><param name='d' value='/a/part/@of'/></pattern>",
        "invalid",
        HOUSES,
        files=PARTS,
        finds={FIRED: 2, FAILED: 1},
        iso=False,
    ),
    Case(
        "variable-of-a-pattern-of-other-documents",
        pattern("<let name='v' value='1'/>", rule("/b", holds("$v")), of=OTHERS),
        "error",
        HOUSES,
        files=PARTS,
        says="<let> in a <pattern> of other documents",
    ),
    Case(
        "variable-in-a-context-of-other-documents",
        "<let name='v' value='2'/>" + pattern(rule("b[@k = $v]", holds("z")), of=OTHERS),
        "error",
        HOUSES,
        bindings=ONE,
        files=PARTS,
        says="needs a queryBinding of xslt2",
    ),
    Case(
        "variable-in-a-context-of-other-documents-in-two",
        "<let name='v' value='2'/>" + pattern(rule("b[@k = $v]", holds("z")), of=OTHERS),
        "invalid",
        HOUSES,
        bindings=TWO,
        files=PARTS,
        finds={FIRED: 1, FAILED: 1},
    ),
    *(
        Case(f"other-document-{name}", pattern(B, of=f"documents=\"'{where}'\""), "error", files=files, says=says)
        for name, where, files, says in (
            ("outside", "../x.xml", PARTS, "outside the folder"),
            ("absolute", "/etc/hostname", PARTS, "outside the folder"),
            ("address", "http://localhost/x.xml", PARTS, "addresses are never fetched"),
            ("file-address", "file:///etc/hostname", PARTS, "addresses are never fetched"),
            ("encoded", "%2e%2e/x.xml", PARTS, "outside the folder"),
            ("missing", "none.xml", PARTS, "there is no such file"),
            ("doctype", "x.xml", {"x.xml": "<!DOCTYPE b [<!ENTITY e 'f'>]><b>&e;</b>"}, "a DOCTYPE (b) is refused"),
        )
    ),
    # Phases that are chosen by the document
    Case(
        "phase-when",
        "<phase id='one' when='/a/z'><active pattern='q'/></phase><phase id='two' when='count(/a/b) = 2'>"
        "<active pattern='p'/></phase><phase id='three' when='true()'><active pattern='q'/></phase>"
        + pattern(B, of="id='p'")
        + pattern(rule("c", holds("z")), of="id='q'"),
        "invalid",
        phase="#ANY",
        finds={FAILED: 1, "/svrl:schematron-output[@phase = 'two']": 1},
        iso=False,
    ),
    Case(
        "phase-when-by-default",
        "<let name='n' value='2'/><phase id='one' when='count(/a/b) = $n'><active pattern='p'/></phase>"
        + pattern(B, of="id='p'"),
        "invalid",
        attributes="defaultPhase='#ANY'",
        finds={"/svrl:schematron-output[@phase = 'one']": 1},
        iso=False,
    ),
    Case(
        "phase-when-of-none",
        "<phase id='one' when='/z'><active pattern='p'/></phase>" + pattern(B, of="id='p'"),
        "error",
        phase="#ANY",
        says="the `when` of no phase is true",
    ),
    Case(
        "phase-when-of-nowhere",
        "<phase id='one' when=\"document('x.xml')\"><active pattern='p'/></phase>" + pattern(B, of="id='p'"),
        "error",
        phase="#ANY",
        says="document() reads another document",
    ),
    Case("phase-any-without-when", pattern(B), "error", phase="#ANY", says="no phase has a `when`"),
    # Parameters
    Case(
        "param-that-is-not-declared",
        f"<pattern abstract='true' id='p'><param name='most' value='1'/>{rule('b', holds('$most'))}</pattern>"
        "<pattern is-a='p'><param name='msot' value='0'/></pattern>",
        "error",
        says="did you mean 'most'",
    ),
    Case(
        "param-of-a-pattern-without-parameters",
        f"<pattern abstract='true' id='p'>{B}</pattern><pattern is-a='p'><param name='x' value='0'/></pattern>",
        "error",
        says="no parameter of the abstract pattern called 'x'",
    ),
    Case(
        "param-that-is-not-given",
        f"<pattern abstract='true' id='p'><param name='most'/>{rule('b', holds('$most'))}</pattern><pattern is-a='p'/>",
        "error",
        says="needs a value of its parameter 'most'",
    ),
    Case(
        "param-without-default",
        f"<pattern abstract='true' id='p'><param name='x'/>{rule('b', holds('$x'))}</pattern>"
        "<pattern is-a='p' id='q'><param name='x' value='@k'/></pattern>",
        "invalid",
        finds={FAILED: 1},
        iso=False,
    ),
    Case(
        "abstract-rule-of-another-pattern",
        pattern("<rule abstract='true' id='r'>" + holds("@k") + "</rule>") + pattern(rule("b", "<extends rule='r'/>")),
        "error",
        says="the abstract rule 'r' is one of another pattern",
    ),
    Case(
        "abstract-rule-of-all-patterns",
        "<rules><rule abstract='true' id='r'>"
        + holds("@k")
        + "</rule></rules>"
        + pattern(rule("b", "<extends rule='r'/>")),
        "invalid",
        finds={FAILED: 1},
        iso=False,
    ),
    Case(
        "rule-with-context-in-rules",
        "<rules>" + rule("b", holds("@k")) + "</rules>" + pattern(B),
        "error",
        says="<rules> holds abstract rules",
    ),
    # Variables
    Case(
        "let-with-content-and-type",
        "<let name='v' as='element(k)+'><k xmlns=''/>\n<k xmlns=''/></let>"
        + pattern(rule("a", holds("count($v) = 2"), holds("$v instance of element(k)+"))),
        "valid",
        bindings=TWO,
    ),
    # Messages
    *(
        Case(
            f"name-by-{name}",
            pattern(rule("b[@k]", holds("false()", f"<name path='{path}'/>"))),
            "invalid",
            finds={f"//svrl:text[normalize-space(.) = '{shown}']": 1},
            iso=name != "text",
        )
        for name, path, shown in (
            ("element", "..", "a"),
            ("text", "name(..)", "a"),
            ("attribute", "@k", "1"),
            ("nothing", "z", ""),
        )
    ),
    Case(
        "subject-in-messages-since-2025",
        pattern(rule("b[@k]", holds("z", "<name/> <value-of select='name(@k)'/>", of="subject='..'")))
        + pattern(rule("c", holds("z", "<name/>"), of="subject='y'"))
        + pattern(rule("b[not(@k)]", holds("z", "<name/>"), of="subject='../c'")),
        "invalid",
        attributes="schematronEdition='2025'",
        finds={f"//svrl:text[normalize-space(.) = '{name}']": count for name, count in (("a", 1), ("c", 2))},
        iso=False,
    ),
    Case(
        "subject-is-for-locations-before",
        pattern(rule("b[@k]", holds("z", "<name/>", of="subject='..'"))),
        "invalid",
        finds={"//svrl:text[normalize-space(.) = 'b']": 1},
        iso=False,
    ),
    Case(
        "copied-attribute",
        pattern(rule("b[@k]", holds("z", of="properties='d'")))
        + f"<properties><property id='d'>\n <xsl:copy-of {XSL} select='@k'/>\n</property></properties>",
        "invalid",
        iso=False,
        finds={"//svrl:property-reference/svrl:text[@k = '1']": 1},
    ),
    Case(
        "attribute-copied-after-text",
        pattern(rule("b[@k]", holds("z", f"text <xsl:copy-of {XSL} select='@k'/>"))),
        "error",
        says="cannot be evaluated",
        bindings=ONE,
    ),
    Case(
        "attribute-copied-after-text-in-two",
        pattern(rule("b[@k]", holds("z", f"text <xsl:copy-of {XSL} select='@k'/>"))),
        "error",
        says="can be copied (xsl:copy-of) before its text only",
        bindings=TWO,
    ),
    # What goes into the report
    *(
        Case(
            f"language-of-{name}",
            f"<pattern {of if name == 'pattern' else ''}>"
            + rule("c", holds("z"), of=of if name == "rule" else "")
            + "</pattern>",
            "invalid",
            attributes="xml:lang='en'" if name == "schema" else "",
            iso=False,
            finds={f"//svrl:failed-assert[lang('{'en' if name == 'schema' else 'de'}')]": 1},
        )
        for name, of in (("schema", ""), ("pattern", "xml:lang='de'"), ("rule", "xml:lang='de'"))
    ),
    Case(
        "language-of-an-abstract-rule",
        pattern(
            "<rule abstract='true' id='r' xml:lang='de'>" + holds("z") + "</rule>", rule("c", "<extends rule='r'/>")
        ),
        "invalid",
        attributes="xml:lang='en'",
        iso=False,
        finds={"//svrl:failed-assert[@xml:lang = 'de']": 1},
    ),
    Case(
        "flags-that-are-computed",
        "<let name='v' value='count(//b)'/>"
        + pattern(rule("c", "<let name='w' value='name()'/>", holds("z", of="flag='$v' severity='$w' role=' $v '"))),
        "invalid",
        iso=False,
        finds={"//svrl:failed-assert[@flag = '2'][@severity = 'c'][@role = '2']": 1},
    ),
    Case(
        "flag-of-no-variable",
        pattern(rule("c", holds("z", of="flag='$v'"))),
        "error",
        says="no let variable called 'v'",
    ),
    Case(
        "paragraph-with-icon",
        "<p icon='i.png' xml:lang='de'>Hinweis</p>" + pattern(B),
        "invalid",
        finds={"/svrl:schematron-output/svrl:text[. = 'Hinweis'][@icon = 'i.png'][@xml:lang = 'de']": 1},
    ),
)
