"""Records in namespaces: `--record`, `--document` and lxml's isoschematron give one verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, isoschematron

import maskwright as mw
from maskwright.commands.validate import validate_file
from maskwright.foundation.progress import Quiet

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ISO = "http://purl.oclc.org/dsdl/schematron"
SVRL = {"svrl": "http://purl.oclc.org/dsdl/svrl"}
URIS = ("", "urn:a", "urn:b")
PREFIXES = {"": "", "urn:a": "a", "urn:b": "b"}
NAMES = ("x", "y", "z")
NUMBERS = st.sampled_from(["1", "2", "-3", "", " 2 ", "1.50", "word"])


@st.composite
def worlds(draw: st.DrawFn) -> tuple[str, str]:
    """A flat file in one of the forms that namespaces may take, and a schema about some of its elements."""
    record = draw(st.sampled_from(URIS))
    cells = {name: draw(st.sampled_from(URIS)) for name in NAMES}
    if draw(st.booleans()):
        cells = dict.fromkeys(NAMES, record)
    twin = draw(st.sampled_from(URIS))
    fields = [*((name, uri) for name, uri in cells.items()), *([("x", twin)] if twin != cells["x"] else [])]
    prefix = {uri: draw(st.sampled_from(["p", "q"])) + uri[-1] for uri in URIS if uri}
    default = draw(st.sampled_from(URIS))
    on_root = draw(st.booleans())
    # Where something has no namespace, the default one is undone, and declared again.
    undone = default and "" in (record, *(uri for _, uri in fields))
    declared = "".join(f' xmlns:{each}="{uri}"' for uri, each in prefix.items())

    def tag(name: str, uri: str) -> str:
        return name if uri == default else f"{prefix[uri]}:{name}" if uri else name

    def spaces(uri: str) -> str:
        return f' xmlns="{uri}"' if undone and uri in ("", default) else ""

    rows = []
    for number in range(draw(st.integers(1, 4))):
        inside = []
        for name, uri in fields:
            if number and draw(st.integers(0, 5)) == 0:
                continue
            unit = draw(st.sampled_from(["", ' u="1"', ' u="2"', f' {prefix["urn:a"]}:u="2"']))
            written = tag(name, uri)
            inside.append(f"<{written}{spaces(uri)}{unit}>{draw(NUMBERS)}</{written}>")
        own = tag("rec", record)
        identity = draw(st.sampled_from(["", ' id="1"', ' id="2"']))
        rows.append(f"<{own}{'' if on_root else declared}{spaces(record)}{identity}>{''.join(inside)}</{own}>")
    head = (declared if on_root else "") + (f' xmlns="{default}"' if default else "")
    document = f"<root{head}>{''.join(rows)}</root>"

    def called(name: str, uri: str) -> str:
        return f"{PREFIXES[uri]}:{name}" if uri else name

    known = [called(name, uri) for name, uri in fields]
    operand = st.sampled_from([*known, f"{known[0]}/@u", f"{known[1]}/@a:u", "@id", "1", "2"])
    tests = []
    for _ in range(draw(st.integers(1, 3))):
        left = draw(st.sampled_from(known))
        right = draw(operand.filter(lambda each, left=left: each != left))
        sign = draw(st.sampled_from(["=", "!=", "&lt;", "&gt;="]))
        form = draw(
            st.sampled_from(
                ["{l} {s} {r}", "not({l} {s} {r})", "number({l}) {s} number({r})", "{l} + {r} {s} 3", "{l}", "not({l})",
                 "count({l}) {s} 1", "string-length({l}) {s} 1"]
            )
        )  # fmt: skip
        tests.append(form.format(l=left, s=sign, r=right))
    context = called("rec", draw(st.sampled_from([record, record, *URIS])))
    asserts = "".join(f'<assert id="t{number}" test="{test}">m</assert>' for number, test in enumerate(tests))
    ns = "".join(f'<ns prefix="{each}" uri="{uri}"/>' for uri, each in PREFIXES.items() if uri)
    schema = f'<schema xmlns="{ISO}">{ns}<pattern><rule context="{context}">{asserts}</rule></pattern></schema>'
    return document, schema


def by_lxml(document: Path, schema: Path) -> tuple[dict[str, int], int]:
    engine = isoschematron.Schematron(etree.parse(schema), store_report=True)
    engine.validate(etree.parse(document))
    report: Any = engine.validation_report
    counts: dict[str, int] = {}
    for each in report.xpath("//svrl:failed-assert", namespaces=SVRL):
        counts[each.get("id")] = counts.get(each.get("id"), 0) + 1
    return counts, int(report.xpath("count(//svrl:fired-rule)", namespaces=SVRL))


def verdict_on_records(document: Path, schema: Path) -> tuple[dict[str, int], bool] | str:
    from maskwright.commands.options import ReadingOptions, stated_values

    try:
        options = ReadingOptions(stated_values(["record=rec"]))
        found = validate_file(document, [schema], reporter=Quiet(), options=options)
    except mw.InputError as error:
        return str(error)
    return {name: count for name, count in found.counts.items() if count}, found.ok


@given(world=worlds())
def test_one_verdict(tmp_path_factory: pytest.TempPathFactory, world: tuple[str, str]) -> None:
    folder = tmp_path_factory.mktemp("ns")
    document, schema = folder / "d.xml", folder / "r.sch"
    document.write_text(world[0], encoding="utf-8")
    schema.write_text(world[1], encoding="utf-8")
    counts, fired = by_lxml(document, schema)
    found = verdict_on_records(document, schema)
    if not fired:
        assert isinstance(found, str)
        assert "ever fired" in found or "is about no record" in found
        return
    if isinstance(found, str):
        # What no record has is taken for a slip of the pen.
        assert "no variable called" in found or "but x in " in found, found
        return
    whole = mw.validate_document(document, schema)
    assert {name: count for name, count in whole.counts.items() if count} == counts
    assert found == (counts, not counts)
