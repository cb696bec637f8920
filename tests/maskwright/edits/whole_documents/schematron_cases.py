"""Small schemas, each with a document and the verdict that ISO/IEC 19757-3 gives it."""

from __future__ import annotations

from dataclasses import dataclass, field

Verdict = str
"""``valid``, ``invalid``, ``undecidable`` on a node, or ``error``: no schema, or none that can be carried out."""


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes
    ----------
    body : str
        What stands in the schema.
    verdict : str
    document : str
    finds : dict of str to int
        XPath on the SVRL report, and how many nodes it finds.
    attributes : str
        Further attributes of the schema.
    bindings : tuple of str
        Query bindings the case is for.
    iso : bool
        Whether lxml.isoschematron finds the same numbers of failures; where not, it falls short of the standard.
    says : str
        What the error says.
    files : dict of str to str
        Further files in the same folder, which is declared for included files and other documents.
    """

    name: str
    body: str
    verdict: Verdict
    document: str = "<a><b k='1'>x</b><b/><c/></a>"
    finds: dict[str, int] = field(default_factory=dict)
    attributes: str = ""
    bindings: tuple[str, ...] = ("xslt", "xslt2")
    iso: bool = True
    phase: str | None = None
    says: str = ""
    files: dict[str, str] = field(default_factory=dict)


def pattern(*rules: str, of: str = "") -> str:
    """Pattern of rules."""
    return f"<pattern{' ' if of else ''}{of}>{''.join(rules)}</pattern>"


def rule(context: str, *content: str, of: str = "") -> str:
    """Rule with a context."""
    return f'<rule context="{context}"{" " if of else ""}{of}>{"".join(content)}</rule>'


def holds(test: str, text: str = "told", of: str = "") -> str:
    """Assert."""
    return f'<assert test="{test}"{" " if of else ""}{of}>{text}</assert>'


def tells(test: str, text: str = "told", of: str = "") -> str:
    """Report."""
    return f'<report test="{test}"{" " if of else ""}{of}>{text}</report>'


FAILED = "//svrl:failed-assert"
REPORTED = "//svrl:successful-report"
FIRED = "//svrl:fired-rule"
ONE = ("xslt",)
TWO = ("xslt2",)
B = rule("b", holds("@k"))

CASES = (
    # Asserts and reports
    Case("assert-true", pattern(rule("a", holds("b"))), "valid", finds={FAILED: 0, FIRED: 1}),
    Case("assert-false", pattern(B), "invalid", finds={FAILED: 1, FIRED: 2}),
    Case("report-false", pattern(rule("a", tells("z"))), "valid"),
    Case("report-true", pattern(rule("a", tells("b"))), "invalid", finds={REPORTED: 1, FAILED: 0}),
    Case(
        "every-test-of-a-rule",
        pattern(rule("a", holds("z"), tells("b"), holds("y"))),
        "invalid",
        finds={FAILED: 2, REPORTED: 1},
    ),
    Case("number-as-truth", pattern(rule("a", holds("count(z)"))), "invalid"),
    Case("text-as-truth", pattern(rule("b", holds("string(@k)"))), "invalid", finds={FAILED: 1}),
    Case("current", pattern(rule("b", holds("not(../b[@k = current()/@k][2])"))), "valid"),
    Case("less-than", pattern(rule("a", holds("count(b) &lt; 2"))), "invalid"),
    # Rules and contexts
    Case(
        "first-rule-wins",
        pattern(rule("b[@k]", holds("true()")), rule("b", holds("@k"))),
        "invalid",
        finds={FAILED: 1, FIRED: 2},
    ),
    Case("first-rule-shields", pattern(rule("b", holds("true()")), rule("b[not(@k)]", holds("false()"))), "valid"),
    Case("rule-order-not-precision", pattern(rule("*", holds("true()")), rule("a/b[1]", holds("false()"))), "valid"),
    Case(
        "every-pattern-fires",
        pattern(rule("b", holds("true()"))) + pattern(rule("b", holds("@k"))),
        "invalid",
        finds={FAILED: 1, FIRED: 4, "//svrl:active-pattern": 2},
    ),
    Case(
        "root-context",
        pattern(rule("/", holds("a"), holds("z"))),
        "invalid",
        finds={"//svrl:failed-assert[@location = '/']": 1},
    ),
    Case("absolute-context", pattern(rule("/a/b", holds("@k"))), "invalid", finds={FIRED: 2}),
    Case("anywhere-context", pattern(rule("//b", holds("@k"))), "invalid", finds={FIRED: 2}),
    Case("united-context", pattern(rule("b|c", holds("@k"))), "invalid", finds={FAILED: 2, FIRED: 3}),
    Case("attribute-context", pattern(rule("@k", holds(". = 2"))), "invalid", finds={FIRED: 1}),
    Case(
        "attribute-context-location",
        pattern(rule("b/@*", tells("true()"))),
        "invalid",
        iso=False,
        finds={"//svrl:successful-report[contains(@location, 'b') and contains(@location, '@k')]": 1},
    ),
    Case("text-context", pattern(rule("text()", holds(". = 'y'"))), "invalid", iso=False, finds={FIRED: 1}),
    Case("comment-context", pattern(rule("comment()", tells("true()"))), "invalid", "<a><!--x--><b/></a>", iso=False),
    Case(
        "instruction-context",
        pattern(rule("processing-instruction('q')", tells("true()"))),
        "invalid",
        "<?q r?><a><?p r?></a>",
        iso=False,
        finds={FIRED: 1},
    ),
    Case("attribute-and-element-apart", pattern(rule("b", holds("true()")), rule("@k", holds("false()"))), "invalid"),
    Case("position-in-context", pattern(rule("b[2]", holds("@k"))), "invalid", finds={FIRED: 1}),
    Case(
        "nested-nodes-all-fire",
        pattern(rule("b", holds("@k"))),
        "invalid",
        "<a><b k='1'><b><b k='1'/></b></b></a>",
        finds={FIRED: 3, FAILED: 1},
    ),
    Case("rule-without-tests", pattern(rule("b"), rule("c", holds("true()"))), "valid", iso=False, finds={FIRED: 3}),
    Case("nothing-fires", pattern(rule("z", holds("false()"))), "error", says="no rule ever fired"),
    Case(
        "context-with-variable",
        "<let name='n' value=\"'1'\"/>" + pattern(rule("b[@k = $n]", holds("z"))),
        "invalid",
        iso=False,
        finds={FIRED: 1, FAILED: 1},
    ),
    Case(
        "contexts-with-variables-in-order",
        "<let name='n' value=\"'1'\"/>"
        + pattern(rule("/a/b[@k = $n] | c", holds("true()")), rule("b", holds("@k")), rule("@*", holds("false()"))),
        "invalid",
        iso=False,
        finds={FIRED: 4, FAILED: 2},
    ),
    Case(
        "rule-for-each-item",
        pattern(rule("a", holds("@k"), of='visit-each="b"')),
        "invalid",
        iso=False,
        finds={FIRED: 1, FAILED: 1},
    ),
    Case(
        "group",
        "<group>" + rule("b[@k]", holds("z")) + rule("b", holds("@k")) + "</group>",
        "invalid",
        iso=False,
        finds={FIRED: 3, FAILED: 2},
    ),
    # Namespaces
    Case(
        "namespace",
        "<ns prefix='p' uri='urn:p'/>" + pattern(rule("p:b", holds("@p:k"))),
        "invalid",
        "<a xmlns:x='urn:p'><x:b x:k='1'/><x:b/><b/></a>",
        finds={FIRED: 2, "//svrl:ns-prefix-in-attribute-values": 1},
    ),
    Case(
        "default-namespace-of-document",
        "<ns prefix='p' uri='urn:p'/>" + pattern(rule("p:a", holds("p:b"), holds("b"))),
        "invalid",
        "<a xmlns='urn:p'><b/></a>",
        finds={FAILED: 1},
    ),
    Case(
        "namespace-called-svrl",
        "<ns prefix='svrl' uri='urn:p'/><ns prefix='xsl' uri='urn:q'/>" + pattern(rule("svrl:b", holds("@xsl:k"))),
        "invalid",
        "<a xmlns='urn:p'><b/></a>",
        iso=False,
    ),
    Case("undeclared-prefix-in-test", pattern(rule("a", holds("p:b"))), "error", says="'p' is declared by no <ns>"),
    Case("undeclared-prefix-in-context", pattern(rule("p:a", holds("b"))), "error", says="'p' is declared by no <ns>"),
    Case("xmlns-is-no-ns", "<pattern xmlns:p='urn:p'>" + rule("p:a", holds("b")) + "</pattern>", "error"),
    Case("ns-without-uri", "<ns prefix='p'/>" + pattern(B), "error", says="<ns> needs the attribute uri"),
    Case("ns-twice", "<ns prefix='p' uri='urn:p'/><ns prefix='p' uri='urn:q'/>" + pattern(B), "error", says="twice"),
    # Variables
    Case("let-in-rule", pattern(rule("b", "<let name='v' value='@k'/>", holds("$v"))), "invalid", finds={FAILED: 1}),
    Case(
        "let-in-rule-uses-another",
        pattern(rule("b", "<let name='v' value='@k'/><let name='w' value='$v + 1'/>", holds("$w = 2"))),
        "invalid",
        finds={FAILED: 1},
    ),
    Case("let-in-pattern-at-root", pattern("<let name='v' value='count(a/b)'/>", rule("b", holds("$v = 2"))), "valid"),
    Case("let-in-schema-at-root", "<let name='v' value='count(a/b)'/>" + pattern(rule("b", holds("$v = 2"))), "valid"),
    Case(
        "let-of-pattern-is-its-own",
        pattern("<let name='v' value='1'/>", rule("b", holds("$v = 1")))
        + pattern("<let name='v' value='2'/>", rule("b", holds("$v = 2"))),
        "valid",
        iso=False,
    ),
    Case(
        "let-of-another-pattern",
        pattern("<let name='v' value='1'/>", rule("b", holds("$v = 1"))) + pattern(rule("b", holds("$v = 1"))),
        "valid",
    ),
    Case(
        "let-of-another-rule",
        pattern(rule("b", "<let name='v' value='1'/>", holds("$v")), rule("c", holds("$v"))),
        "error",
        says="no let variable called 'v'",
    ),
    Case(
        "let-twice-in-schema",
        "<let name='v' value='1'/><let name='v' value='1'/>" + pattern(B),
        "error",
        says="defined twice",
    ),
    Case(
        "let-twice-in-pattern",
        pattern("<let name='v' value='1'/><let name='v' value='1'/>", B),
        "error",
        says="defined twice",
    ),
    Case(
        "let-twice-in-rule",
        pattern(rule("b", "<let name='v' value='1'/><let name='v' value='1'/>", holds("$v"))),
        "error",
        says="defined twice",
    ),
    Case(
        "let-in-schema-and-pattern",
        "<let name='v' value='1'/>" + pattern("<let name='v' value='1'/>", B),
        "error",
        says="by the schema",
    ),
    Case(
        "let-in-rule-hides",
        "<let name='v' value='0'/>" + pattern(rule("a", "<let name='v' value='1'/>", holds("$v = 1"))),
        "valid",
    ),
    Case(
        "let-with-content",
        "<let name='v'><k xmlns=''>1</k><k xmlns=''>2</k></let>"
        + pattern(rule("b[@k]", holds("@k = $v/k"), holds("count($v/k) = 2"), holds("$v/k[2] = 1"))),
        "invalid",
        iso=False,
        finds={FAILED: 1},
    ),
    Case(
        "let-with-text",
        "<let name='v'>1</let>" + pattern(rule("b", holds("@k = $v"))),
        "invalid",
        iso=False,
        finds={FAILED: 1},
    ),
    Case(
        "let-with-braces",
        "<let name='v'><k xmlns='' z='{a}'/></let>" + pattern(rule("a", holds("$v/k/@z = '{a}'"))),
        "valid",
        iso=False,
    ),
    Case(
        "let-in-rule-with-content",
        pattern(rule("b[@k]", "<let name='v'><k xmlns=''>1</k></let>", holds("@k = $v/k"))),
        "valid",
        iso=False,
    ),
    Case("let-without-name", "<let value='1'/>" + pattern(B), "error", says="<let> needs the attribute name"),
    Case("let-with-both", "<let name='v' value='1'>1</let>" + pattern(B), "error", says="not both"),
    Case(
        "let-refers-to-later",
        "<let name='w' value='$v'/><let name='v' value='1'/>" + pattern(rule("a", holds("$w"))),
        "valid",
    ),
    Case(
        "let-with-type",
        pattern(rule("b[@k]", "<let name='v' value='xs:integer(@k)' as='xs:integer'/>", holds("$v"))),
        "valid",
        bindings=TWO,
    ),
    Case(
        "let-with-type-in-one",
        pattern(rule("b", "<let name='v' value='1' as='xs:integer'/>", holds("$v"))),
        "error",
        bindings=ONE,
        says="queryBinding",
    ),
    Case("undefined-variable", pattern(rule("b", holds("$nowhere"))), "error", says="no let variable called 'nowhere'"),
    Case("undefined-variable-in-message", pattern(rule("b", holds("@k", "<value-of select='$nowhere'/>"))), "error"),
    # Abstract rules
    Case(
        "extends",
        pattern("<rule abstract='true' id='r'>" + holds("@k") + "</rule>", rule("b", "<extends rule='r'/>")),
        "invalid",
        finds={FAILED: 1, FIRED: 2},
    ),
    Case(
        "extends-and-more",
        pattern(
            "<rule abstract='true' id='r'><let name='v' value='@k'/>" + holds("$v") + "</rule>",
            rule("b", "<extends rule='r'/>", holds("$v = 1")),
            rule("c", "<extends rule='r'/>"),
        ),
        "invalid",
        finds={FAILED: 3},
    ),
    Case(
        "extends-of-extends",
        pattern(
            "<rule abstract='true' id='r'>" + holds("@k") + "</rule>",
            "<rule abstract='true' id='s'><extends rule='r'/>" + holds("text()") + "</rule>",
            rule("b", "<extends rule='s'/>"),
        ),
        "invalid",
        finds={FAILED: 2},
    ),
    Case("extends-unknown", pattern(rule("b", "<extends rule='r'/>")), "error", says="no abstract rule called 'r'"),
    Case(
        "extends-concrete",
        pattern(rule("c", holds("1"), of="id='r'"), rule("b", "<extends rule='r'/>")),
        "error",
        says="abstract rule",
    ),
    Case(
        "extends-in-a-ring",
        pattern(
            "<rule abstract='true' id='r'><extends rule='s'/></rule>"
            "<rule abstract='true' id='s'><extends rule='r'/></rule>",
            B,
        ),
        "error",
        says="extends itself",
    ),
    Case(
        "abstract-rule-with-context",
        pattern("<rule abstract='true' id='r' context='b'>" + holds("1") + "</rule>", B),
        "error",
        says="an abstract rule has no context",
    ),
    Case(
        "abstract-rule-without-id",
        pattern("<rule abstract='true'>" + holds("1") + "</rule>", B),
        "error",
        says="needs an id",
    ),
    Case(
        "abstract-rules-of-the-schema",
        "<rules><rule abstract='true' id='r'>"
        + holds("@k")
        + "</rule></rules>"
        + pattern(rule("b", "<extends rule='r'/>")),
        "invalid",
        iso=False,
    ),
    # Abstract patterns
    Case(
        "is-a",
        "<pattern abstract='true' id='p'>"
        + rule("$what", holds("$has", "<name/> <value-of select='$has'/>"))
        + "</pattern><pattern is-a='p' id='q'><param name='what' value='b'/><param name='has' value='@k'/></pattern>",
        "invalid",
        finds={FAILED: 1, "//svrl:active-pattern[@id = 'q']": 1, FIRED: 2},
    ),
    Case(
        "is-a-without-id",
        "<pattern abstract='true' id='p'>"
        + rule("$what", holds("@k"))
        + "</pattern><pattern is-a='p'><param name='what' value='b'/></pattern>",
        "invalid",
        iso=False,
    ),
    Case(
        "is-a-twice",
        "<pattern abstract='true' id='p'>"
        + rule("$what", holds("@k", of='id="t"'))
        + "</pattern><pattern is-a='p' id='q'><param name='what' value='b'/></pattern>"
        "<pattern is-a='p' id='r'><param name='what' value='c'/></pattern>",
        "invalid",
        finds={FAILED: 2},
    ),
    Case(
        "is-a-longest-name",
        "<pattern abstract='true' id='p'>"
        + rule("$what", "<let name='n' value='1'/>", holds("@k = $n and $whatever"))
        + "</pattern><pattern is-a='p' id='q'><param name='what' value='b[@k]'/>"
        "<param name='whatever' value='true()'/></pattern>",
        "valid",
        iso=False,
    ),
    Case("is-a-unknown", "<pattern is-a='p' id='q'/>", "error", says="no abstract pattern called 'p'"),
    Case("is-a-concrete", pattern(B, of="id='p'") + "<pattern is-a='p' id='q'/>", "error", says="abstract pattern"),
    Case(
        "is-a-without-parameter",
        "<pattern abstract='true' id='p'>" + rule("b", holds("$has")) + "</pattern><pattern is-a='p' id='q'/>",
        "error",
        says="no let variable called 'has'",
    ),
    Case(
        "is-a-with-rules",
        "<pattern abstract='true' id='p'>" + B + "</pattern><pattern is-a='p' id='q'>" + B + "</pattern>",
        "error",
        says="an instance (is-a) holds no <rule>",
    ),
    Case(
        "is-a-param-without-value",
        "<pattern abstract='true' id='p'>" + B + "</pattern><pattern is-a='p' id='q'><param name='x'/></pattern>",
        "error",
        says="<param> needs the attribute value",
    ),
    Case(
        "abstract-pattern-does-not-fire",
        "<pattern abstract='true' id='p'>"
        + rule("b", holds("false()"))
        + "</pattern>"
        + pattern(rule("c", holds("true()"))),
        "valid",
        finds={FIRED: 1},
    ),
    # Phases
    Case(
        "phase",
        "<phase id='one'><active pattern='p'/></phase>"
        + pattern(B, of="id='p'")
        + pattern(rule("c", holds("z")), of="id='q'"),
        "invalid",
        phase="one",
        finds={FAILED: 1, "//svrl:active-pattern": 1, "/svrl:schematron-output[@phase = 'one']": 1},
    ),
    Case(
        "phase-all",
        "<phase id='one'><active pattern='p'/></phase>"
        + pattern(B, of="id='p'")
        + pattern(rule("c", holds("z")), of="id='q'"),
        "invalid",
        phase="#ALL",
        finds={FAILED: 2},
    ),
    Case(
        "default-phase",
        "<phase id='one'><active pattern='p'/></phase>"
        + pattern(rule("b", holds("true()")), of="id='p'")
        + pattern(rule("c", holds("z")), of="id='q'"),
        "valid",
        attributes="defaultPhase='one'",
    ),
    Case(
        "default-phase-asked-for",
        "<phase id='one'><active pattern='p'/></phase>"
        + pattern(rule("b", holds("true()")), of="id='p'")
        + pattern(rule("c", holds("z")), of="id='q'"),
        "valid",
        attributes="defaultPhase='one'",
        phase="#DEFAULT",
    ),
    Case(
        "default-phase-overruled",
        "<phase id='one'><active pattern='p'/></phase><phase id='two'><active pattern='q'/>"
        "</phase>" + pattern(rule("b", holds("true()")), of="id='p'") + pattern(rule("c", holds("z")), of="id='q'"),
        "invalid",
        attributes="defaultPhase='one'",
        phase="two",
    ),
    Case("no-default-phase-asked-for", pattern(B), "invalid", phase="#DEFAULT"),
    Case(
        "let-in-phase",
        "<phase id='one'><let name='v' value='count(a/b)'/><active pattern='p'/></phase>"
        + pattern(rule("a", holds("$v = 2")), of="id='p'"),
        "valid",
        phase="one",
        iso=False,
    ),
    Case(
        "let-in-phase-and-schema",
        "<let name='v' value='1'/><phase id='one'><let name='v' value='1'/>"
        "<active pattern='p'/></phase>" + pattern(B, of="id='p'"),
        "error",
        phase="one",
        says="twice",
    ),
    Case(
        "let-of-another-phase",
        "<phase id='one'><let name='v' value='1'/><active pattern='p'/></phase>"
        + pattern(rule("a", holds("$v = 1")), of="id='p'"),
        "error",
        phase="#ALL",
    ),
    Case(
        "phase-from",
        "<phase id='one' from='//c'><active pattern='p'/></phase>" + pattern(B, of="id='p'"),
        "invalid",
        "<a><b/><c><b/><b k='1'/></c></a>",
        phase="one",
        iso=False,
        finds={FIRED: 2, FAILED: 1},
    ),
    Case("unknown-phase", pattern(B), "error", phase="nowhere", says="no phase called 'nowhere'"),
    Case(
        "unknown-default-phase",
        pattern(B),
        "error",
        attributes="defaultPhase='nowhere'",
        says="no phase called 'nowhere'",
    ),
    Case(
        "unknown-active-pattern",
        "<phase id='one'><active pattern='nowhere'/></phase>" + pattern(B),
        "error",
        says="no pattern called 'nowhere'",
    ),
    Case(
        "phase-without-id",
        "<phase><active pattern='p'/></phase>" + pattern(B, of="id='p'"),
        "error",
        says="<phase> needs the attribute id",
    ),
    # Messages
    Case(
        "value-of",
        pattern(rule("b", holds("false()", "k is <value-of select='@k'/>, <value-of select='1 + 1'/>"))),
        "invalid",
        finds={"//svrl:failed-assert[normalize-space(svrl:text) = 'k is 1, 2']": 1},
    ),
    Case(
        "name",
        pattern(rule("b[@k]", holds("false()", "<name/>, <name path='..'/>"))),
        "invalid",
        finds={"//svrl:failed-assert[normalize-space(svrl:text) = 'b, a']": 1},
    ),
    Case(
        "value-of-several",
        pattern(rule("a", tells("b", "<value-of select='b/name()'/>"))),
        "invalid",
        bindings=TWO,
        finds={"//svrl:successful-report[normalize-space(svrl:text) = 'b b']": 1},
    ),
    Case(
        "rich-text",
        pattern(rule("c", holds("z", "<emph>n</emph><span class='s'>o</span><dir value='rtl'>t</dir>"))),
        "invalid",
        finds={"//svrl:text[normalize-space(.) = 'not']": 1, "//svrl:text/svrl:dir[@dir = 'rtl']": 1},
    ),
    Case(
        "braces-are-text",
        pattern(rule("c", holds("z", "{c}", of="role='{r}'"))),
        "invalid",
        iso=False,
        finds={"//svrl:failed-assert[@role = '{r}'][normalize-space(svrl:text) = '{c}']": 1},
    ),
    Case(
        "diagnostics",
        pattern(rule("b", holds("@k", of="diagnostics='d e'"))) + "<diagnostics><diagnostic id='d'>at "
        "<value-of select='count(preceding-sibling::b)'/></diagnostic><diagnostic id='e'>2</diagnostic></diagnostics>",
        "invalid",
        finds={
            "//svrl:diagnostic-reference": 2,
            "//svrl:diagnostic-reference[@diagnostic = 'd'][normalize-space(.) = 'at 1']": 1,
        },
    ),
    Case(
        "diagnostics-see-variables",
        pattern(rule("b", "<let name='v' value='7'/>", holds("@k", of="diagnostics='d'")))
        + "<diagnostics><diagnostic id='d'><value-of select='$v'/></diagnostic></diagnostics>",
        "invalid",
        finds={"//svrl:diagnostic-reference[normalize-space(.) = '7']": 1},
    ),
    Case(
        "unknown-diagnostic",
        pattern(rule("b", holds("@k", of="diagnostics='d'"))),
        "error",
        says="no diagnostic called 'd'",
    ),
    Case(
        "properties",
        pattern(rule("b", holds("@k", of="properties='d'"))) + "<properties><property id='d' role='r' "
        "scheme='s'><value-of select='name()'/></property></properties>",
        "invalid",
        iso=False,
        finds={"//svrl:property-reference[@property = 'd'][@role = 'r'][@scheme = 's'][normalize-space(.) = 'b']": 1},
    ),
    Case(
        "unknown-property", pattern(rule("b", holds("@k", of="properties='d'"))), "error", says="no property called 'd'"
    ),
    Case(
        "copies",
        pattern(
            rule("b[@k]", holds("z", "<xsl:copy-of xmlns:xsl='http://www.w3.org/1999/XSL/Transform' select='.'/>"))
        ),
        "invalid",
        iso=False,
        finds={"//svrl:text/b[@k = '1']": 1},
    ),
    # What goes into the report
    Case(
        "subject",
        pattern(rule("b[@k]", holds("z", of="subject='..'"))),
        "invalid",
        iso=False,
        finds={"//svrl:failed-assert[not(contains(@location, 'b'))]": 1},
    ),
    Case(
        "subject-of-rule",
        pattern(rule("b[@k]", holds("z"), of="subject='@k'")),
        "invalid",
        iso=False,
        finds={"//svrl:failed-assert[contains(@location, '@k')]": 1},
    ),
    Case(
        "subject-of-nothing",
        pattern(rule("b[@k]", holds("z", of="subject='y'"))),
        "invalid",
        iso=False,
        finds={"//svrl:failed-assert[contains(@location, 'b')]": 1},
    ),
    Case(
        "attributes-in-report",
        pattern(
            rule(
                "c", holds("z", of="id='i' role='r' flag='f' see='s' icon='c' fpi='p'"), of="id='j' role='k' flag='g'"
            ),
            of="id='l'",
        ),
        "invalid",
        finds={
            "//svrl:failed-assert[@id = 'i'][@role = 'r'][@flag = 'f'][@see = 's'][@icon = 'c'][@fpi = 'p']": 1,
            "//svrl:fired-rule[@id = 'j'][@role = 'k'][@flag = 'g'][@context = 'c']": 1,
            "//svrl:active-pattern[@id = 'l']": 1,
        },
    ),
    Case(
        "language-in-report",
        pattern(rule("c", holds("z", of="xml:lang='de'"))),
        "invalid",
        finds={"//svrl:failed-assert[@xml:lang = 'de']/svrl:text[@xml:lang = 'de']": 1},
    ),
    Case(
        "titles-in-report",
        "<title>Mine</title><pattern><title>This</title>" + B + "</pattern>",
        "invalid",
        attributes="schemaVersion='7'",
        finds={"/svrl:schematron-output[@title = 'Mine'][@schemaVersion = '7']/svrl:active-pattern[@name = 'This']": 1},
    ),
    Case("warning", pattern(rule("c", holds("z", of="role='warning'"))), "valid", finds={FAILED: 1}),
    Case(
        "severity",
        pattern(rule("c", holds("z", of="severity='warning'"))),
        "valid",
        iso=False,
        finds={"//svrl:failed-assert[@severity = 'warning']": 1},
    ),
    Case("other-roles-fail", pattern(rule("c", holds("z", of="role='caution-1'"))), "invalid"),
    # XSLT beside the patterns
    Case(
        "key",
        "<xsl:key xmlns:xsl='http://www.w3.org/1999/XSL/Transform' name='k' match='b' use='@k'/>"
        + pattern(rule("a", holds("key('k', '1')"), holds("key('k', '2')"))),
        "invalid",
        finds={FAILED: 1},
    ),
    Case(
        "function",
        "<ns prefix='f' uri='urn:f'/><xsl:function xmlns:xsl='http://www.w3.org/1999/XSL/Transform' "
        "xmlns:f='urn:f' name='f:twice'><xsl:param name='x'/><xsl:sequence select='2 * $x'/></xsl:function>"
        + pattern(rule("a", holds("f:twice(2) = 4"), holds("f:twice(2) = 5"))),
        "invalid",
        bindings=TWO,
        finds={FAILED: 1},
    ),
    Case(
        "function-in-one",
        "<xsl:function xmlns:xsl='http://www.w3.org/1999/XSL/Transform' xmlns:f='urn:f' name='f:twice'/>" + pattern(B),
        "error",
        bindings=ONE,
        says="<xsl:function> in <schema> is refused",
    ),
    Case(
        "xsl-include",
        "<xsl:include xmlns:xsl='http://www.w3.org/1999/XSL/Transform' href='x.xsl'/>" + pattern(B),
        "error",
        says="<xsl:include> in <schema> is refused",
    ),
    Case(
        "xsl-in-function-that-writes",
        "<xsl:function xmlns:xsl='http://www.w3.org/1999/XSL/Transform' xmlns:f='urn:f' "
        "name='f:x'><xsl:result-document href='x'/></xsl:function>" + pattern(B),
        "error",
        bindings=TWO,
        says="<xsl:result-document> is refused",
    ),
    Case(
        "foreign-elements-and-attributes",
        "<x xmlns='urn:x'>any</x><pattern xmlns:y='urn:y' y:z='1'>" + B + "<x xmlns='urn:x'/></pattern>",
        "invalid",
    ),
    # Other documents
    Case("include", "<include href='other.sch'/>", "error", says="<include href=...> is not followed"),
    Case(
        "extends-href", "<extends href='other.sch'/>" + pattern(B), "error", says="<extends href=...> is not followed"
    ),
    Case("documents", pattern(B, of="documents=\"'other.xml'\""), "error", says="a folder is declared for them"),
    Case(
        "document-function",
        pattern(rule("a", holds("document('other.xml')"))),
        "error",
        says="document() reads another document",
    ),
    Case("doc-function", pattern(rule("a", holds("doc('other.xml')"))), "error", says="doc() reads another document"),
    Case(
        "environment", pattern(rule("a", holds("environment-variable('PATH')"))), "error", says="environment-variable()"
    ),
    Case(
        "reach-out-as-value",
        pattern(rule("a", holds("exists(for-each('x', unparsed-text#1))"))),
        "error",
        bindings=TWO,
        says="unparsed-text()",
    ),
    # Schemas that are none
    Case("no-pattern", "<title>none</title>", "error", says="holds no pattern"),
    Case("rule-without-context", pattern("<rule>" + holds("1") + "</rule>"), "error", says="<rule> needs a context"),
    Case("empty-context", pattern(rule("", holds("1"))), "error", says="empty attribute context"),
    Case(
        "assert-without-test",
        pattern(rule("b", "<assert>x</assert>")),
        "error",
        says="<assert> needs the attribute test",
    ),
    Case(
        "report-without-test",
        pattern(rule("b", "<report>x</report>")),
        "error",
        says="<report> needs the attribute test",
    ),
    Case(
        "same-id-twice",
        pattern(rule("b", holds("1", of="id='x'"), holds("1", of="id='x'"))),
        "error",
        says="the id 'x' is used twice",
    ),
    Case(
        "same-id-of-others",
        pattern(B, of="id='x'") + pattern(rule("c", holds("1"), of="id='x'")),
        "error",
        says="the id 'x' is used twice",
    ),
    Case("unknown-element", pattern(rule("b", "<asert test='1'/>")), "error", says="did you mean 'assert'"),
    Case("unknown-attribute", pattern(rule("b", "<assert tset='1' test='1'/>")), "error", says="did you mean 'test'"),
    Case("assert-outside-rule", pattern(holds("1")), "error", says="in <pattern>"),
    Case("rule-outside-pattern", rule("b", holds("1")), "error", says="in <schema>"),
    Case("text-in-rule", pattern(rule("b", "text", holds("1"))), "error", says="holds text"),
    Case(
        "value-of-without-select",
        pattern(rule("b", holds("@k", "<value-of/>"))),
        "error",
        says="<value-of> needs the attribute select",
    ),
    Case("broken-test", pattern(rule("b", holds("1 +"))), "error", says="test"),
    Case("test-that-closes-more", pattern(rule("b", holds("true()) or (true()"))), "error", says="test"),
    Case("broken-context", pattern(rule("b[", holds("1"))), "error", says="context"),
    Case("context-that-is-no-pattern", pattern(rule("1 + 1", holds("1"))), "error", says="context"),
    Case("unknown-function", pattern(rule("b", holds("nowhere(1)"))), "error", says="nowhere"),
    Case("later-function-in-one", pattern(rule("b", holds("exists(@k)"))), "error", bindings=ONE, says="queryBinding"),
    Case(
        "later-function",
        pattern(rule("b", holds("exists(@k)"))),
        "invalid",
        bindings=("xslt2", "XSLT3", "xpath2", "xpath31"),
    ),
    Case("unknown-binding", pattern(B), "error", bindings=("stx", "xquery", "mine"), says="queryBinding"),
    Case("first-bindings", pattern(B), "invalid", bindings=("XSLT", "xslt1", "xpath", "exslt"), iso=False),
    Case(
        "extension-function",
        "<ns prefix='s' uri='http://exslt.org/sets'/>" + pattern(rule("a", holds("count(s:distinct(b/@k)) = 1"))),
        "valid",
        bindings=("exslt",),
        iso=False,
    ),
    Case(
        "wrong-type-in-two",
        pattern(rule("b", holds("xs:integer(concat('x', @k)) = 1"))),
        "undecidable",
        bindings=TWO,
        says="/Q{}a[1]/Q{}b[1] FORG0001",
    ),
    Case("comment-in-expression", pattern(rule("b", holds("@k (: ) $no ( :)"))), "invalid", bindings=TWO),
    Case(
        "bound-variables",
        pattern(rule("a", holds("every $x in b satisfies $x/@k"), holds("for $x in 1 return $x"))),
        "invalid",
        bindings=TWO,
        finds={FAILED: 1},
    ),
)
