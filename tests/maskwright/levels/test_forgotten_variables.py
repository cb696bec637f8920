"""A variable of the households that a flat file's pipeline forgot among theirs is named, before all else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import maskwright as mw
from maskwright import EditError, InputError, OpenDoubts
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

HOUSEHOLDS, SIZE = 120, 3
MASK_RENT = "  - {method: microaggregation, variables: [rent], params: {k: 3}}\n"
MASK_AGE = "  - {method: microaggregation, variables: [age], params: {k: 3}}\n"


def pipeline(
    folder: Path,
    *,
    upper: str | None = "[region]",
    lower: str | None = None,
    steps: str = MASK_RENT + MASK_AGE,
    edits: str = "[]",
    more: str = "",
    households: int = HOUSEHOLDS,
    roles: str = "",
    change: Callable[[dict[str, NDArray[np.object_]]], None] = lambda cells: None,
) -> Path:
    """Households of three: their region, rent, costs, and the sum of the two; age and a rare flag of persons."""
    draw = np.random.default_rng(5)
    home = np.repeat(np.arange(households), SIZE)
    rent, heating = draw.integers(400, 900, households), draw.integers(40, 90, households)
    cells: dict[str, NDArray[np.object_]] = {
        "hid": home, "pno": np.tile(np.arange(1, SIZE + 1), households),
        "region": np.array(list("NSEW"))[draw.integers(0, 4, households)][home],
        "rent": rent[home], "heating": heating[home], "costs": (rent + heating)[home],
        "weight": (1 + draw.random(households)).round(3)[home],
        "age": draw.integers(1, 95, len(home)), "rare": (np.arange(len(home)) == 100).astype(int),
    }  # fmt: skip
    cells = {name: each.astype(object) for name, each in cells.items()}
    change(cells)
    rows = [",".join(map(str, row)) for row in zip(*cells.values(), strict=True)]
    (folder / "in.csv").write_text("\n".join([",".join(cells), *rows, ""]), encoding="utf-8")
    path = folder / "p.yaml"
    own, others = (f", variables: {each}" if each else "" for each in (upper, lower))
    path.write_text(
        "maskwright: 1\ndata:\n  source: in.csv\n"
        "  variables: {region: {role: other}, heating: {role: other}, costs: {role: other}, weight: {role: weight}, "
        f"rare: {{role: other}}{roles}}}\n"
        f"  levels:\n    household: {{key: hid{own}}}\n    person: {{key: pno, in: household{others}}}\n"
        f"edits: {edits}\nprotect:\n{steps}{more}output: {{data: out.csv}}\nseed: 1\n",
        encoding="utf-8",
    )
    return path


@pytest.fixture
def planned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """The plan of a pipeline that is changed so."""

    def plan(**changed: Any) -> dict[str, Any]:
        capsys.readouterr()
        assert main(["plan", "--json", str(pipeline(tmp_path, **changed))]) in (0, 1)
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return plan


Planned = Callable[..., dict[str, Any]]


def doubted(plan: dict[str, Any]) -> list[str]:
    """Variables of which the doubt is said."""
    return [each["subject"] for each in plan["doubts"] if each["doubt"] == "constant-within-groups"]


def noticed(plan: dict[str, Any]) -> list[str]:
    return [each for each in [each["message"] for each in plan["notices"]] if "declared of person" in each]


def test_a_forgotten_variable_that_a_step_masks_is_doubted_first(tmp_path: Path) -> None:
    with pytest.raises(OpenDoubts) as refused:
        mw.run(pipeline(tmp_path))
    first, second = refused.value.problems[:2]
    assert first.message == (
        "W108 constant-within-groups: rent: it is declared of person, differs from household to household, and is the "
        "same in all rows of each household with two or more: it is probably a variable of household"
    )
    assert first.hint == (
        "If it says something of the whole household, write `levels: {household: {variables: [..., rent]}}`."
    )
    assert second.message.startswith("W204 constant-within-households: rent:")
    assert not (tmp_path / "out.csv").exists()


def test_what_it_says_to_write_settles_it(planned: Planned) -> None:
    plan = planned(upper="[region, rent, heating, costs]")
    assert doubted(plan) == []
    assert noticed(plan) == []


def test_others_that_are_published_are_one_notice(planned: Planned) -> None:
    plan = planned(upper="[rent]")
    assert doubted(plan) == []
    assert noticed(plan) == [
        (
            "declared of person, and the same in all rows of nearly every household: region, heating, costs. If they "
            "say something of the whole household, write `levels: {household: {variables: [..., region, heating, "
            "costs]}}`."
        )
    ]


@pytest.mark.parametrize(
    ("declared", "hint"),
    [
        ({"upper": "[]"}, "write `levels: {household: {variables: [rent]}}`."),
        (
            {"upper": None, "lower": "[age, rare, weight, rent]"},
            "take it out of the variables of person: rent.",
        ),
    ],
)
def test_the_remedy_fits_how_the_levels_are_declared(
    planned: Planned, declared: dict[str, str | None], hint: str
) -> None:
    (told,) = (each for each in planned(**declared)["doubts"] if each["doubt"] == "constant-within-groups")
    assert told["subject"] == "rent"
    assert told["remedy"].endswith(hint)


def test_a_name_that_yaml_would_not_take_is_quoted(planned: Planned) -> None:
    def renamed(cells: dict[str, NDArray[np.object_]]) -> None:
        cells["no"] = cells.pop("rent")

    plan = planned(change=renamed, steps=MASK_RENT.replace("rent", '"no"'))
    assert next(each["remedy"] for each in plan["doubts"] if each["subject"] == "no").endswith('[..., "no"]}}`.')


def test_a_plan_that_is_refused_tells_it_before_its_reasons(tmp_path: Path) -> None:
    steps = "  - {method: local_suppression, params: {k: 3, keys: [region, heating], count: wildcard}}\n"
    with pytest.raises(InputError) as refused:
        mw.run(pipeline(tmp_path, steps=steps))
    first, second = refused.value.problems
    assert first.message.startswith("W108 constant-within-groups: heating:")
    assert "are variables of different levels" in second.message


def test_an_edit_that_cannot_be_bound_tells_it_before_its_reasons(tmp_path: Path) -> None:
    with pytest.raises(EditError) as refused:
        mw.run(pipeline(tmp_path, edits='["if household.rent > 600 then age > 0"]'))
    first, second = refused.value.problems
    assert first.message.startswith("W108 constant-within-groups: rent:")
    assert "no variable of the level household called 'rent'" in second.message


def test_a_waiver_covers_it_also_where_the_plan_is_refused(tmp_path: Path) -> None:
    steps = "  - {method: local_suppression, params: {k: 3, keys: [region, heating], count: wildcard}}\n"
    more = "waive: [{doubt: constant-within-groups, variable: heating, because: each pays}]\n"
    with pytest.raises(InputError) as refused:
        mw.run(pipeline(tmp_path, steps=steps, more=more))
    (only,) = refused.value.problems
    assert "W108" not in only.message


def test_single_exceptions_do_not_hide_it_and_more_do(planned: Planned) -> None:
    def differing(number: int) -> Callable[[dict[str, NDArray[np.object_]]], None]:
        def change(cells: dict[str, NDArray[np.object_]]) -> None:
            cells["rent"][: SIZE * number : SIZE] += 1

        return change

    one = planned(change=differing(1))
    assert doubted(one) == ["rent"]
    (told,) = (each for each in one["doubts"] if each["doubt"] == "constant-within-groups")
    assert "in all rows of 119 of the 120 of household with two or more" in told["message"]
    assert doubted(planned(change=differing(5))) == []


def test_a_column_of_nearly_one_value_says_nothing(planned: Planned) -> None:
    """In which nearly all have 0, households agree by chance; where whole households have 1, it is said."""
    steps = MASK_RENT.replace("rent", "rare")
    assert doubted(planned(steps=steps)) == []

    def of_pairs(cells: dict[str, NDArray[np.object_]]) -> None:
        cells["rare"][:] = 0
        cells["rare"][: 6 * SIZE] = 1

    assert doubted(planned(steps=steps, change=of_pairs)) == []

    def of_many(cells: dict[str, NDArray[np.object_]]) -> None:
        cells["rare"][:] = 0
        cells["rare"][: 30 * SIZE] = 1

    assert doubted(planned(steps=steps, change=of_many)) == ["rare"]


def test_few_households_say_nothing(planned: Planned) -> None:
    assert doubted(planned(households=15)) == []
    assert doubted(planned(households=30)) == ["rent"]


def test_a_missing_cell_beside_a_known_one_differs(planned: Planned) -> None:
    def known_of_the_first(cells: dict[str, NDArray[np.object_]]) -> None:
        cells["rent"][cells["pno"] != 1] = ""

    def unknown_of_some(cells: dict[str, NDArray[np.object_]]) -> None:
        cells["rent"][: 10 * SIZE] = ""

    def two_codes(cells: dict[str, NDArray[np.object_]]) -> None:
        cells["rent"][:] = np.where(cells["pno"] == 1, "NA", "refused")

    roles = ", rent: {type: integer, missing: [NA, refused]}"
    assert doubted(planned(change=known_of_the_first)) == []
    assert doubted(planned(change=unknown_of_some)) == ["rent"]
    assert doubted(planned(change=two_codes, roles=roles)) == []


def test_weights_are_those_of_members(planned: Planned) -> None:
    assert all("weight" not in each for each in noticed(planned()))


def test_rows_of_a_household_need_not_stand_together(planned: Planned) -> None:
    def mixed(cells: dict[str, NDArray[np.object_]]) -> None:
        order = np.random.default_rng(2).permutation(HOUSEHOLDS * SIZE)
        for name in cells:
            cells[name] = cells[name][order]

    assert doubted(planned(change=mixed)) == ["rent"]
