"""`maskwright validate` knows the dates that a pipeline declares, also of a file that is read as a stream."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ROWS = [("31.12.1999", "01.02.2000 09:00", "2000-02-01 09:00:00"), ("01.01.2001", "31.12.2000 23:00", ""),
        ("15.06.1980", "14.06.1998 10:00", "1998-06-14 10:00:00.5")]  # fmt: skip


def files(folder: Path, declared: str, rules: str) -> list[str]:
    names = ("birth", "seen", "left")
    records = "".join(
        f"<Record>{''.join(f'<{n}>{c}</{n}>' for n, c in zip(names, row, strict=True))}</Record>" for row in ROWS
    )
    (folder / "in.xml").write_text(f"<Microdata>{records}</Microdata>", encoding="utf-8")
    (folder / "rules.yaml").write_text(f"edits: [{rules}]\n", encoding="utf-8")
    (folder / "p.yaml").write_text(
        f"maskwright: 1\ndata: {{source: in.xml, variables: {{{declared}}}}}\nedits: []\nprotect: []\n"
        "output: {data: out.xml}\nseed: 1\n",
        encoding="utf-8",
    )
    return ["validate", str(folder / "in.xml"), "--edits", str(folder / "rules.yaml"), "--json"]


DECLARED = 'birth: {type: date, format: "%d.%m.%Y"}, seen: {type: datetime, format: "%d.%m.%Y %H:%M"}'


def test_declared_dates_of_a_stream_are_ordered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = "birth <= seen, seen - birth >= 32.375, 'age_at(birth, 1998-06-14) >= 18', hour(seen) < 23"
    command = files(tmp_path, DECLARED, rules)
    assert main([*command, "--pipeline", str(tmp_path / "p.yaml")]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [each["violations"] for each in found["edits"]] == [1, 1, 3, 1]


def test_undeclared_dates_of_a_stream_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = files(tmp_path, DECLARED, "birth <= seen")
    assert main(command[:-1]) == 1
    told = capsys.readouterr()
    assert "declare how its dates are written" in told.out + told.err


def test_a_rule_that_takes_a_date_for_a_number_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = files(tmp_path, DECLARED, "birth >= 1900")
    assert main([*command, "--pipeline", str(tmp_path / "p.yaml")]) == 2
    assert "compares birth with a number" in capsys.readouterr().err


def test_datetimes_without_a_format_have_that_of_their_first_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = files(tmp_path, f"{DECLARED}, left: {{type: datetime}}", "left >= seen")
    assert main([*command, "--pipeline", str(tmp_path / "p.yaml")]) == 0
    (found,) = json.loads(capsys.readouterr().out)["edits"]
    # The last has decimals of a second, and is of another form.
    assert (found["violations"], found["unknown"]) == (0, 2)
