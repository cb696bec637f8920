"""Random rules in XPath 1, as XPath 2 writes them, and in YAML: one classification and one verdict; Saxon is asked."""

from __future__ import annotations

import importlib.util
import json
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.edits.languages.schematron.reader import read_schematron

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = ("a", "b", "c", "d")
CODES = ("s", "t")
LETTERS = ("M", "F", "X")
RULES = 150
RECORDS = 40
SLOW_SEEDS = 34
"""Times 150 rules: 5,100."""

OPERATORS = {"==": ("=", "eq"), "<=": ("<=", "le"), "<": ("<", "lt"), ">=": (">=", "ge"), ">": (">", "gt")}


@dataclass(frozen=True)
class Said:
    """One rule in each dialect."""

    first: str
    second: str
    yaml: str


class Speaker:
    """Draws rules, and ways in which XPath 2 writes them."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def cast(self, name: str) -> str:
        """A variable as a number in XPath 2."""
        casts = (f"xs:decimal({name})", f"number({name})", f"xs:double({name})", f"({name} cast as xs:integer)")
        return self.rng.choice((*casts, f"xs:integer({name})", f"{name}/number()", f"fn:number({name})"))

    def rule(self) -> Said:
        """Any rule."""
        kinds = (self.total, self.product, self.range, self.codes, self.each_in_range, self.distance)
        return self.rng.choice((*kinds, self.governing, self.governing, self.both))()

    def compared(self, one: Said, sign: str, other: Said) -> Said:
        """Two numbers compared."""
        general, value = OPERATORS[sign]
        second = self.rng.choice((general, value))
        return Said(
            f"{one.first} {general} {other.first}", f"{one.second} {second} {other.second}",
            f"{one.yaml} {sign} {other.yaml}",
        )  # fmt: skip

    def number(self, value: int) -> Said:
        """A literal."""
        return Said(str(value), self.rng.choice((str(value), f"xs:decimal('{value}')", f"({value})")), str(value))

    def variable(self, name: str) -> Said:
        """A variable as a number."""
        return Said(f"number({name})", self.cast(name), name)

    def sum(self, names: list[str]) -> Said:
        """A sum, also as a sequence."""
        plain = " + ".join(self.cast(name) for name in names)
        listed = ", ".join(names)
        second = self.rng.choice(
            (
                f"({plain})", f"sum(({', '.join(self.cast(name) for name in names)}))",
                f"sum(({listed})/xs:decimal(.))", f"sum(for $v in ({listed}) return number($v))",
                f"sum(({listed}) ! xs:double(.))",
            )
        )  # fmt: skip
        return Said(f"({' + '.join(f'number({name})' for name in names)})", second, f"({' + '.join(names)})")

    def total(self) -> Said:
        """Parts and their total, or a bound on it."""
        *parts, total = self.rng.sample(NUMBERS, 3)
        return self.compared(self.sum(parts), self.rng.choice(("==", "==", "<=", ">=")), self.variable(total))

    def product(self) -> Said:
        """A product."""
        one, two, three = self.rng.sample(NUMBERS, 3)
        left = Said(f"number({one}) * number({two})", f"{self.cast(one)} * {self.cast(two)}", f"{one} * {two}")
        return self.compared(left, "==", self.variable(three))

    def range(self) -> Said:
        """Bounds of one variable."""
        name, low = self.rng.choice(NUMBERS), self.rng.randrange(0, 5)
        high = low + self.rng.randrange(1, 9)
        below = self.compared(self.variable(name), ">=", self.number(low))
        above = self.compared(self.variable(name), "<=", self.number(high))
        return self.joined("and", below, above)

    def joined(self, word: str, one: Said, other: Said) -> Said:
        """Two conditions."""
        return Said(*(f"{left} {word} {right}" for left, right in zip(texts(one), texts(other), strict=True)))

    def codes(self) -> Said:
        """A list of codes."""
        name = self.rng.choice(CODES)
        chosen = self.rng.sample(LETTERS, self.rng.randrange(1, 3))
        listed = ", ".join(f"'{each}'" for each in chosen)
        second = self.rng.choice(
            (
                f"{name} = ({listed})", f"some $v in ({listed}) satisfies $v eq {name}", f"({listed}) = {name}",
                " or ".join(f"{name} eq '{each}'" for each in chosen),
            )
        )  # fmt: skip
        return Said(
            f"({' or '.join(f'{name} = {each!r}' for each in chosen)})", f"({second})", f"{name} in {{{listed}}}"
        )

    def each_in_range(self) -> Said:
        """The same bound of some variables."""
        names, bound = self.rng.sample(NUMBERS, 2), self.rng.randrange(3, 20)
        conditions = [f"number({name}) <= {bound}" for name in names]
        second = f"every $v in ({', '.join(names)}) satisfies xs:decimal($v) le {bound}"
        return Said(" and ".join(conditions), f"({second})", " and ".join(f"{name} <= {bound}" for name in names))

    def distance(self) -> Said:
        """A tolerance."""
        (one, two), bound = self.rng.sample(NUMBERS, 2), self.rng.randrange(0, 4)
        first = f"(number({one}) - number({two}) <= {bound} and number({two}) - number({one}) <= {bound})"
        second = f"abs({self.cast(one)} - {self.cast(two)}) le {bound}"
        return Said(first, second, f"abs({one} - {two}) <= {bound}")

    def governing(self) -> Said:
        """A condition and what follows."""
        condition = self.rng.choice((self.codes, self.bound))()
        consequent = self.rng.choice((self.bound, self.codes, self.total))()
        first = f"not({condition.first}) or ({consequent.first})"
        second = self.rng.choice(
            (
                f"if ({condition.second}) then ({consequent.second}) else true()",
                f"not({condition.second}) or ({consequent.second})",
                f"if (not({condition.second})) then true() else {consequent.second}",
                f"let $c := ({condition.second}) return if ($c) then {consequent.second} else true()",
            )
        )
        return Said(first, second, f"if {condition.yaml} then {consequent.yaml}")

    def bound(self) -> Said:
        """One comparison with a number."""
        sign = self.rng.choice(("<=", "<", ">=", ">"))
        return self.compared(self.variable(self.rng.choice(NUMBERS)), sign, self.number(self.rng.randrange(0, 12)))

    def both(self) -> Said:
        """A conjunction."""
        return self.joined("and", self.bound(), self.codes())


def texts(said: Said) -> tuple[str, str, str]:
    """Dialects in order."""
    return said.first, said.second, said.yaml


def schema(tests: list[str], binding: str) -> str:
    escaped = [test.replace("&", "&amp;").replace("<", "&lt;") for test in tests]
    asserts = "".join(f'<assert id="r{number}" test="{test}">m</assert>' for number, test in enumerate(escaped))
    return (
        f'<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="{binding}">'
        '<ns prefix="xs" uri="http://www.w3.org/2001/XMLSchema"/>'
        '<ns prefix="fn" uri="http://www.w3.org/2005/xpath-functions"/>'
        f'<pattern><rule context="Record">{asserts}</rule></pattern></schema>'
    )


Cells = dict[str, list[str | None]]


def drawn(seed: int, *, dirty: bool = False) -> tuple[list[Said], Cells]:
    """Rules and records; None: the element is not there. On dirty records, dialects say different things on purpose."""
    rng = random.Random(seed)
    speaker = Speaker(rng)
    said = [speaker.rule() for _ in range(RULES)]

    def cell(usual: str) -> str | None:
        return rng.choice((None, "", " ", "x", " 5 ", "-3", "2.5", "07")) if dirty and rng.random() < 0.2 else usual

    cells = {name: [cell(str(rng.randrange(0, 12))) for _ in range(RECORDS)] for name in NUMBERS}
    cells |= {name: [cell(rng.choice(LETTERS)) for _ in range(RECORDS)] for name in CODES}
    return said, cells


def document(cells: Cells) -> str:
    """Records as XML."""
    records = (
        "".join(f"<{name}>{values[row]}</{name}>" for name, values in cells.items() if values[row] is not None)
        for row in range(RECORDS)
    )
    return f"<D>{''.join(f'<Record>{record}</Record>' for record in records)}</D>"


needs_saxon = pytest.mark.skipif(
    importlib.util.find_spec("saxonche") is None, reason="Saxon (saxonche) is not installed"
)


@needs_saxon
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, SLOW_SEEDS))])
def test_one_classification_and_one_verdict(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said, cells = drawn(seed)
    paths = {"first": tmp_path / "first.sch", "second": tmp_path / "second.sch"}
    paths["first"].write_text(schema([each.first for each in said], "xslt"), encoding="utf-8")
    paths["second"].write_text(schema([each.second for each in said], "xslt2"), encoding="utf-8")
    (tmp_path / "d.xml").write_text(document(cells), encoding="utf-8")
    sets = {name: read_schematron(path) for name, path in paths.items()}
    sets["yaml"] = mw.EditSet.parse([{"rule": each.yaml, "name": f"r{n}"} for n, each in enumerate(said)])
    for number, each in enumerate(said):
        own = [sets[name][f"r{number}"] for name in ("first", "second", "yaml")]
        assert len({edit.kind for edit in own}) == 1, (each, [edit.parts for edit in own])
        assert len({frozenset(edit.variables) for edit in own}) == 1, each
    # As masking sees them: without the engine that has the last word.
    masked = mw.EditSet(tuple(replace(edit, validated_by=None) for edit in sets["second"]))
    converted = tmp_path / "converted.yaml"
    converted.write_text(mw.convert_edits(sets["second"], "yaml").text, encoding="utf-8")
    data = mw.read(tmp_path / "d.xml")
    by_engine = mw.validate_document(tmp_path / "d.xml", paths["second"]).counts
    stated = {**sets, "converted": mw.read_edits(converted), "as masking sees it": masked}
    assert any(by_engine.values())
    for name, rules in stated.items():
        found = mw.validate(data, rules).counts
        different = [each for number, each in enumerate(said) if found[f"r{number}"] != by_engine[f"r{number}"]]
        assert not different, name


@needs_saxon
@pytest.mark.parametrize("seed", [100, *(pytest.param(n, marks=pytest.mark.slow) for n in range(101, 110))])
def test_what_is_decided_without_an_engine_is_what_it_says(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Absent and empty elements, and texts where numbers are expected."""
    said, cells = drawn(seed, dirty=True)
    rules = tmp_path / "rules.sch"
    rules.write_text(schema([each.second for each in said], "xslt2"), encoding="utf-8")
    (tmp_path / "d.xml").write_text(document(cells), encoding="utf-8")
    edits = read_schematron(rules)
    assert {edit.validated_by is None for edit in edits} == {True, False}
    by_engine = mw.validate_document(tmp_path / "d.xml", rules).counts
    main(["validate", str(tmp_path / "d.xml"), "--edits", str(rules), "--json"])
    found = {each["name"]: each["violations"] for each in json.loads(capsys.readouterr().out)["edits"]}
    different = [each.second for number, each in enumerate(said) if found[f"r{number}"] != by_engine[f"r{number}"]]
    assert not different
