"""Rules published with namespaced XML: lxml and Saxon accept the masked file, and reject it with one broken cell."""

from __future__ import annotations

import os
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree, isoschematron

import maskwright as mw
from maskwright.commands.edits import convert_rules
from maskwright.commands.options import ReadingOptions, stated_values
from maskwright.commands.validate import validate_file
from maskwright.foundation.progress import Quiet

if TYPE_CHECKING:
    from pathlib import Path

saxon = pytest.importorskip("saxonche", reason="Saxon is an extra")

ISO = "{http://purl.oclc.org/dsdl/schematron}"
SVRL = {"svrl": "http://purl.oclc.org/dsdl/svrl"}
XSL = "http://www.w3.org/1999/XSL/Transform"
URIS = ("", "urn:a", "urn:b")
RECORDS = 12
Counts = dict[str, tuple[int, int]]


@dataclass(frozen=True)
class World:
    """A file, and rules on it.

    `variables`: elements of its records. `broken`: namespace of the total. `language`: of the rules that are published.
    """

    document: str
    rules: list[str]
    variables: list[str]
    broken: str
    language: str = "sch"


@st.composite
def tags(draw: st.DrawFn) -> tuple[dict[str, str], str, str]:
    """Prefix of each namespace, the default one, and the declarations around the records."""
    default = draw(st.sampled_from(URIS))
    prefixes = {uri: draw(st.sampled_from(["p", "q", "ns"])) + uri[-1] for uri in URIS if uri}
    declared = "".join(f' xmlns:{each}="{uri}"' for uri, each in prefixes.items())
    return prefixes, default, declared + (f' xmlns="{default}"' if default else "")


def written(name: str, uri: str, prefixes: dict[str, str], default: str) -> tuple[str, str]:
    """Tag of an element, and what it declares itself."""
    if uri == default:
        return name, ""
    return (f"{prefixes[uri]}:{name}", "") if uri else (name, ' xmlns=""')


@st.composite
def flat_worlds(draw: st.DrawFn) -> World:
    prefixes, default, declared = draw(tags())
    uris = {name: draw(st.sampled_from(URIS)) for name in ("rec", "x", "y", "z")}
    if draw(st.booleans()):
        uris = dict.fromkeys(uris, uris["rec"])
    # What is not prefixed has to be in the default namespace of its record.
    default = uris["rec"] if default not in uris.values() else default
    declared = re.sub(r' xmlns="[^"]*"', "", declared) + (f' xmlns="{default}"' if default else "")
    twin = draw(st.sampled_from([uri for uri in URIS if uri != uris["x"]])) if draw(st.booleans()) else None
    fields = [*((name, uris[name]) for name in ("x", "y", "z")), *([] if twin is None else [("x", twin)])]
    called = {
        (name, uri): written(name, uri, prefixes, default)[0] if twin is not None and name == "x" else name
        for name, uri in fields
    }
    if len(set(called.values())) < len(called):
        fields, called = fields[:3], {each: each[0] for each in fields[:3]}
    record, own = written("rec", uris["rec"], prefixes, default)
    rows, values_of = [], random.Random(draw(st.integers(0, 1000)))
    for number in range(RECORDS):
        x, y = values_of.randint(1, 900), values_of.randint(1, 900)
        values = [x, y, x + y, values_of.randint(1, 900)]
        cells = ""
        for (name, uri), value in zip(fields, values, strict=False):
            tag, inside = written(name, uri, prefixes, default)
            inside = inside if own == "" else ""
            unit = f' u="{number % 2}"' if name == "y" else ""
            if own and not inside and uri == default and default:
                inside = f' xmlns="{default}"'
            cells += f"<{tag}{inside}{unit}>{value}</{tag}>"
        rows.append(f'<{record}{own} id="{number}">{cells}</{record}>')
    x, y, z = (called[each] for each in fields[:3])
    total = f"`{x}` + `{y}` == `{z}`"
    more = [f"`{x}` >= 0", "`@id` in [0, 1000]", f"`{y}/@u` in {{0, 1}}", f"if `{x}` > 0 then `{z}` > 0"]
    more += [f"`{called[each]}` <= 900" for each in fields[3:]]
    others = st.sampled_from(more)
    rules = [total, *draw(st.lists(others, max_size=3, unique=True))]
    language = draw(st.sampled_from(["sch", "yaml"]))
    return World(f"<root{declared}>{''.join(rows)}</root>", rules, list(called.values()), fields[2][1], language)


def by_lxml(document: Path, schema: Path) -> Counts:
    """Failed asserts and fired rules of each pattern."""
    engine = isoschematron.Schematron(etree.parse(schema), store_report=True)
    engine.validate(etree.parse(document))
    report: Any = engine.validation_report
    found: dict[str, list[int]] = {}
    pattern = ""
    for each in report.getroot().iterchildren(etree.Element):
        match etree.QName(each).localname:
            case "active-pattern":
                pattern = each.get("id")
                found[pattern] = [0, 0]
            case "failed-assert":
                found[pattern][0] += 1
            case "fired-rule":
                found[pattern][1] += 1
    return {name: (failed, fired) for name, (failed, fired) in found.items()}


def by_saxon(document: Path, schema: Path) -> Counts:
    """The same by a stylesheet that is not ours: each context in turn, each test of it."""
    root = etree.parse(schema).getroot()
    spaces = "".join(f" xmlns:{each.get('prefix')}={quoteattr(each.get('uri'))}" for each in root.iter(f"{ISO}ns"))
    body = ""
    for pattern in root.iter(f"{ISO}pattern"):
        (rule,), (test,) = pattern.iter(f"{ISO}rule"), pattern.iter(f"{ISO}assert")
        path = quoteattr(f"//{rule.get('context')}")
        fails = f"<xsl:if test={quoteattr('not(' + test.get('test') + ')')}><f/></xsl:if>"
        fired = f"<xsl:for-each select={path}><fired/></xsl:for-each>"
        body += f"<p id={quoteattr(pattern.get('id'))}>{fired}<xsl:for-each select={path}>{fails}</xsl:for-each></p>"
    sheet = (
        f'<xsl:stylesheet version="1.0" xmlns:xsl="{XSL}"{spaces}>'
        f'<xsl:template match="/"><r>{body}</r></xsl:template></xsl:stylesheet>'
    )
    with saxon.PySaxonProcessor(license=False) as processor:
        compiled = processor.new_xslt30_processor().compile_stylesheet(stylesheet_text=sheet)
        result = etree.fromstring(compiled.transform_to_string(source_file=str(document)).encode())
    return {p.get("id"): (len(p.findall("f")), len(p.findall("fired"))) for p in result.iter("p")}


def broken_copy(document: Path, uri: str) -> Path:
    """Copy in which one record has another total."""
    tree = etree.parse(document)
    cell = next(tree.iter(f"{{{uri}}}z" if uri else "z"))
    cell.text = "100000"
    copy = document.with_name("broken.xml")
    tree.write(copy)
    return copy


def verdicts(document: Path, rules: Path, *, options: ReadingOptions) -> dict[str, int]:
    found = validate_file(document, [rules], reporter=Quiet(), options=options)
    return dict(found.counts)


@settings(max_examples=8 if os.environ.get("SLOW") else 4)
@given(world=flat_worlds())
def test_what_is_published_beside_flat_records(tmp_path_factory: pytest.TempPathFactory, world: World) -> None:
    folder = tmp_path_factory.mktemp("ns")
    (folder / "d.xml").write_text(world.document, encoding="utf-8")
    masked = folder / "m.xml"
    numbers = [name for name in world.variables if "@" not in name]
    kept = {"@id": {"role": "other"}, f"{numbers[1]}/@u": {"role": "other"}}
    language = world.language
    mw.run(
        {
            "maskwright": 1,
            "data": {"source": str(folder / "d.xml"), "record": "rec", "variables": kept},
            "edits": [{"rule": rule, "name": f"r{number}"} for number, rule in enumerate(world.rules)],
            "protect": [{"method": "microaggregation", "variables": numbers, "params": {"k": 3}}],
            "output": {"data": str(masked), "edits": str(folder / f"m.edits.{language}")},
            "seed": 1,
        }
    )
    other = "schematron" if language == "yaml" else "yaml"
    text, refused = convert_rules(
        [folder / f"m.edits.{language}"], other, language=None, data=masked, record=None,
        options=ReadingOptions(stated_values(["record=rec"])), decimals=None, reporter=Quiet(),
    )  # fmt: skip
    assert refused is None
    (folder / f"m.edits.{'sch' if language == 'yaml' else 'yaml'}").write_text(text, encoding="utf-8")
    schema, twin, broken = folder / "m.edits.sch", folder / "m.edits.yaml", broken_copy(masked, world.broken)
    names = {f"r{number}" for number in range(len(world.rules))}
    every = dict.fromkeys(names, (0, RECORDS))
    assert by_lxml(masked, schema) == by_saxon(masked, schema) == every
    failing = {**every, "r0": (1, RECORDS)}
    assert by_lxml(broken, schema) == by_saxon(broken, schema) == failing
    options = ReadingOptions(stated_values(["record=rec"]))
    for rules in (schema, twin):
        assert verdicts(masked, rules, options=options) == dict.fromkeys(names, 0)
        assert verdicts(broken, rules, options=options) == {name: int(name == "r0") for name in names}
    for document, failed in ((masked, 0), (broken, 1)):
        whole = mw.validate_document(document, schema)
        assert whole.counts == {name: failed * (name == "r0") for name in names}


@st.composite
def nested_worlds(draw: st.DrawFn) -> World:
    prefixes, default, declared = draw(tags())
    top = draw(st.sampled_from([uri for uri in URIS if uri or not default]))
    low = draw(st.sampled_from([uri for uri in URIS if uri or not default]))
    group, member = (written(name, uri, prefixes, default)[0] for name, uri in (("group", top), ("member", low)))
    key, total = (written(name, top, prefixes, default)[0] for name in ("gid", "z"))
    number, amount = (written(name, low, prefixes, default)[0] for name in ("mid", "x"))
    rows = []
    for place in range(RECORDS):
        amounts = draw(st.lists(st.integers(1, 50), min_size=1, max_size=3))
        members = "".join(
            f'<{member} u="{each % 2}"><{number}>{n}</{number}><{amount}>{each}</{amount}></{member}>'
            for n, each in enumerate(amounts)
        )
        rows.append(f"<{group}><{key}>{place}</{key}><{total}>{sum(amounts)}</{total}>{members}</{group}>")
    others = ["x <= group.z", "unique(member.mid)", "any(member where x >= 1)", "`@u` in {0, 1}", "count(member) <= 3"]
    rules = ["z == sum(member.x)", *draw(st.lists(st.sampled_from(others), max_size=3, unique=True))]
    return World(f"<root{declared}>{''.join(rows)}</root>", rules, [], top)


@settings(max_examples=12 if os.environ.get("SLOW") else 5)
@given(world=nested_worlds())
def test_what_is_written_of_nested_records(tmp_path_factory: pytest.TempPathFactory, world: World) -> None:
    folder = tmp_path_factory.mktemp("ns")
    document, rules = folder / "d.xml", folder / "rules.yaml"
    document.write_text(world.document, encoding="utf-8")
    rules.write_text(
        yaml.safe_dump([{"rule": rule, "name": f"r{number}"} for number, rule in enumerate(world.rules)]),
        encoding="utf-8",
    )
    levels = {"group": {"key": "gid", "record": "group"}, "member": {"key": "mid", "in": "group", "record": "member"}}
    pipeline = folder / "pipeline.yaml"
    pipeline.write_text(
        yaml.safe_dump(
            {
                "maskwright": 1,
                "data": {"source": "d.xml", "levels": levels, "variables": {"@u": {"role": "other"}}},
                "protect": [{"method": "microaggregation", "variables": ["x"], "params": {"k": 2}}],
                "output": {"data": "m.xml"},
            }
        ),
        encoding="utf-8",
    )
    options = ReadingOptions(pipeline=pipeline)
    text, refused = convert_rules(
        [rules], "schematron", language=None, data=None, record=None, options=options, decimals=None, reporter=Quiet()
    )
    assert refused is None
    schema, broken = folder / "rules.sch", broken_copy(document, world.broken)
    schema.write_text(text, encoding="utf-8")
    own, other = by_lxml(document, schema), by_lxml(broken, schema)
    assert own == by_saxon(document, schema)
    assert other == by_saxon(broken, schema)
    assert all(fired >= RECORDS and not failed for failed, fired in own.values())
    assert {name for name, (failed, _) in other.items() if failed} == {"r0"}
    for each in (rules, schema):
        assert verdicts(document, each, options=options) == {name: failed for name, (failed, _) in own.items()}
        assert verdicts(broken, each, options=options) == {name: failed for name, (failed, _) in other.items()}
    whole = mw.validate_document(broken, schema)
    assert whole.counts == {name: failed for name, (failed, _) in other.items()}
