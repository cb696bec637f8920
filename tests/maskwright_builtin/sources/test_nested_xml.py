"""XML in which persons are elements inside households, read one level at a time."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from lxml import etree

import maskwright as mw
from maskwright import DataError
from maskwright_builtin.sources.xml.options import XmlParams
from maskwright_builtin.sources.xml.source import XML

if TYPE_CHECKING:
    from pathlib import Path

HOUSEHOLDS = {"record": "Household", "members": ["Person"]}
PERSONS = {"record": "Person", "group": {"Household": "hhid"}}
TWO = (
    "<S><Household><hhid>1</hhid><size>2</size><Person><pno>1</pno></Person><Person><pno>2</pno></Person></Household>"
    "<Household><hhid>2</hhid><size>1</size><Person><pno>1</pno></Person></Household></S>"
)


def rows(path: Path, params: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows as the reading of the whole file gives them; the one of a part of it, where it takes the file, too."""
    reading = XML.open(path, XmlParams.model_validate(params), lambda _: None)
    found = [row for batch in reading.batches() for row in batch.to_pylist()]
    assert XML.open_once is not None
    try:
        once = XML.open_once(path, XmlParams.model_validate(params), lambda _: None)
        assert [row for batch in once.batches() for row in batch.to_pylist()] == found
    except mw.ReadAgain:
        pass
    return found


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def expected(path: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What lxml finds in a file."""
    households, persons = [], []
    for household in etree.parse(path).getroot().iterchildren("Household"):
        own = {
            cell.tag: "".join(cell.itertext(etree.Element))
            for cell in household
            if cell.tag not in ("Person", etree.Comment)
        }
        households.append(own)
        persons += [
            {"hhid": own["hhid"], **{cell.tag: "".join(cell.itertext(etree.Element)) for cell in person}}
            for person in household.iterchildren("Person")
        ]
    return households, persons


def without_absent(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: text for name, text in row.items() if text is not None} for row in found]


def random_file(seed: int) -> str:
    """A nested file of any layout: members before, among and after the cells, absent and empty cells, references."""
    chosen = random.Random(seed)
    plain = chosen.random() < 0.5
    gap = chosen.choice(["", "\n  ", " "])
    texts = ["", "7", " 7 ", "x y", "0.50", "é"] + ([] if plain else ["&amp;", "<![CDATA[<Person>]]>", "a<!-- b -->c"])

    def cells(names: str) -> list[str]:
        kept = [name for name in names if chosen.random() < 0.8]
        return [f"<{name}/>" if chosen.random() < 0.1 else f"<{name}>{chosen.choice(texts)}</{name}>" for name in kept]

    def person(number: int) -> str:
        tag = "Person" if plain or chosen.random() < 0.8 else "Person "
        return f"<{tag}><pno>{number}</pno>{gap}{''.join(cells('ab'))}{gap}</Person>"

    households = []
    for number in range(chosen.randint(1, 6)):
        members = [person(each) for each in range(chosen.choice([0, 1, 1, 2, 5]) + (number == 0))]
        own = [f"<hhid>{number}</hhid>", *cells("uvw")]
        at = chosen.choice([0, len(own), chosen.randint(0, len(own))])
        inside = gap.join([*own[:at], *members, *own[at:]])
        households.append(f"<Household>{gap}{inside}{gap}</Household>")
    comment = "" if plain or chosen.random() < 0.5 else "<!-- <Household><Person></Person> -->"
    return f"<S>{gap}{comment}{gap.join(households)}{gap}</S>\n"


@pytest.mark.covering(5)
@pytest.mark.parametrize("seed", range(150))
def test_both_levels_hold_the_cells_of_the_file(tmp_path: Path, seed: int) -> None:
    path = written(tmp_path / "nested.xml", random_file(seed))
    households, persons = expected(path)
    assert without_absent(rows(path, HOUSEHOLDS)) == households
    assert without_absent(rows(path, PERSONS)) == persons


def test_plain_files_are_read_by_the_fast_reader(tmp_path: Path) -> None:
    path = written(tmp_path / "nested.xml", TWO)
    for params in (HOUSEHOLDS, PERSONS):
        assert XML.open(path, XmlParams.model_validate(params), lambda _: None).is_plain  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("</Household></S>", "</Household><Person><pno>3</pno></Person></S>", "not straight inside a <Household>"),
        ("<size>2</size>", "<size>2<Person><pno>4</pno></Person></size>", "not straight inside|nested inside cell"),
        ("<hhid>2</hhid>", "", "no <hhid>, the key"),
        ("<hhid>2</hhid>", "<hhid>2</hhid><hhid>3</hhid>", "a second <hhid>"),
        ("<pno>2</pno>", "<pno>2</pno>text", "text between the elements of a record"),
        ("<size>1</size>", "<size>1</size>text", "text between the elements of a record"),
        ("<pno>2</pno>", "<pno><a>2</a></pno>", "nested inside cell <pno>"),
        ("<pno>2</pno>", "<Person><pno>2</pno></Person>", "nested|inside"),
        ("<pno>2</pno>", "<pno>2</pno><hhid>2</hhid>", "is the key of the <Household> around it too"),
        ("<pno>2</pno>", "<pno>2</pno><pno>3</pno>", "a second <pno> in one record"),
    ],
)
def test_a_wrong_structure_is_told_with_its_line(tmp_path: Path, before: str, after: str, message: str) -> None:
    text = TWO.replace(before, f"\n{after}", 1)
    path = written(tmp_path / "nested.xml", text)
    with pytest.raises(DataError, match=message) as raised:
        [*rows(path, HOUSEHOLDS), *rows(path, PERSONS)]
    place = raised.value.problems[0].place
    assert place is not None
    assert place.line is not None


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"record": "Person", "group": {"Household": "id"}}, "no <Household> of the file has an element <id>"),
        ({"record": "Person", "group": {"Household": "@id"}}, "no <Household> of the file has an attribute @id"),
        ({"record": "Human", "group": {"Household": "hhid"}}, "no <Household> of the file has an element <Human>"),
        ({"record": "Person", "group": {"Family": "hhid"}}, "no record element called 'Family'"),
    ],
)
def test_names_that_the_file_has_not(tmp_path: Path, params: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        rows(written(tmp_path / "nested.xml", TWO), params)


def with_attributes(text: str) -> str:
    """The same file with the keys of households as attributes of theirs."""
    return re.sub(r"(?<!-- )<Household>(.*?)<hhid>(\d+)</hhid>", r'<Household hhid="\2">\1', text, flags=re.DOTALL)


@pytest.mark.covering(5)
@pytest.mark.parametrize("seed", range(50))
def test_keys_may_be_attributes(tmp_path: Path, seed: int) -> None:
    elements = written(tmp_path / "elements.xml", random_file(seed))
    attributes = written(tmp_path / "attributes.xml", with_attributes(random_file(seed)))
    keyed: dict[str, Any] = {"record": "Person", "group": {"Household": "@hhid"}}
    found = [[{name.lstrip("@"): text for name, text in row.items()} for row in rows(attributes, keyed)]]
    assert found == [rows(elements, PERSONS)]
    uppers = [{name.lstrip("@"): text for name, text in row.items()} for row in rows(attributes, HOUSEHOLDS)]
    assert [without_absent(uppers)] == [without_absent(rows(elements, HOUSEHOLDS))]


def test_a_key_of_both_levels_or_of_few_groups_is_refused(tmp_path: Path) -> None:
    text, keyed = with_attributes(TWO), {"record": "Person", "group": {"Household": "@hhid"}}
    both = written(tmp_path / "both.xml", text.replace("<Person>", '<Person hhid="7">'))
    with pytest.raises(DataError, match="attribute hhid is the key of the <Household> around it too"):
        rows(both, keyed)
    few = written(tmp_path / "few.xml", text.replace(' hhid="2"', ""))
    with pytest.raises(DataError, match="record 2 of <Household>: there is no attribute hhid, the key"):
        rows(few, keyed)


PERSON = "\n    <Person><pno>1</pno></Person>"
PREFIXED = """<S xmlns:H='urn:h'>
 <H:Household><H:hhid>1</H:hhid>
  <H:Person><H:pno>1</H:pno></H:Person>
 </H:Household>
</S>
"""
MEMBERS_FIRST = """<S>
<Household>
 <Person>
  <pno>1</pno>
 </Person>
 <hhid>1</hhid>
 <size>1</size>
</Household>
</S>
"""


def rewritten(path: Path, target: Path) -> None:
    """Read both levels and write them again."""
    tables, variables, layouts = {}, {}, {}
    for level, params in (("household", HOUSEHOLDS), ("person", PERSONS)):
        reading = XML.open(path, XmlParams.model_validate(params), lambda _: None)
        tables[level] = pa.Table.from_batches(list(reading.batches())).combine_chunks()
        layouts[level] = reading.layout
    place = {key: row for row, key in enumerate(tables["household"]["hhid"].to_pylist())}
    groups = np.array([place[key] for key in tables["person"]["hhid"].to_pylist()], dtype=np.int64)
    tables["person"] = tables["person"].drop_columns(["hhid"])
    for level, table in tables.items():
        variables[level] = tuple(mw.Variable(name, "nominal") for name in table.column_names)
    assert XML.nested is not None
    batches = {level: table.to_batches(max_chunksize=3) for level, table in tables.items()}
    XML.nested.write(target, batches, variables, {"person": groups}, layouts)


@pytest.mark.covering(5)
@pytest.mark.parametrize("seed", range(100))
def test_what_was_read_is_written_again(tmp_path: Path, seed: int) -> None:
    path = written(tmp_path / "nested.xml", random_file(seed))
    rewritten(path, tmp_path / "again.xml")
    assert expected(tmp_path / "again.xml") == expected(path)


@pytest.mark.parametrize(
    "text",
    [
        f"<S>\n  <Household><hhid>1</hhid>{PERSON * 2}\n  </Household>\n</S>\n",
        PREFIXED,
        MEMBERS_FIRST,
    ],
)
def test_the_form_of_the_file_is_kept(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "nested.xml", text)
    rewritten(path, tmp_path / "again.xml")
    assert (tmp_path / "again.xml").read_text(encoding="utf-8") == text
