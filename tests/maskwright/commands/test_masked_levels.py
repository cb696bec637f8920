"""Masked files of several levels, read and linked as a pipeline declares the original."""

import pytest

import maskwright as mw


def keys(linked):
    column = linked["household"].data["hhid"]
    return [column.variable.categories[code] for code in column.values]


@pytest.mark.parametrize("form", ["flat", "linked"])
def test_masked_files_take_the_place_of_the_original(tmp_path, form):
    (tmp_path / "all.csv").write_text("hhid,pno,age,region\n1,1,31,N\n1,2,3,N\n2,1,47,S\n", "utf-8")
    (tmp_path / "masked.csv").write_text("hhid,pno,region\n9,1,S\n7,1,N\n7,2,N\n", "utf-8")
    (tmp_path / "homes.csv").write_text("hhid,region\n1,N\n2,S\n", "utf-8")
    (tmp_path / "persons.csv").write_text("hhid,pno,age\n1,1,31\n1,2,3\n2,1,47\n", "utf-8")
    (tmp_path / "homes_masked.csv").write_text("hhid,region\n9,S\n7,N\n", "utf-8")
    (tmp_path / "persons_masked.csv").write_text("hhid,pno\n9,1\n7,1\n7,2\n", "utf-8")
    flat = "source: all.csv, levels: {household: {key: hhid, variables: [region]}, person: {key: pno, in: household}}"
    linked = (
        "levels: {household: {source: homes.csv, key: hhid}, person: {source: persons.csv, key: pno, in: household}}"
    )
    declared = "variables: {age: {role: quasi_identifier}}"  # it is not published
    section = f"{flat if form == 'flat' else linked}, {declared}"
    (tmp_path / "p.yaml").write_text(f"maskwright: 1\ndata: {{{section}}}\n", "utf-8")
    masked = ["masked.csv"] if form == "flat" else ["homes_masked.csv", "persons_masked.csv"]
    assert keys(mw.pipeline_linked_data(tmp_path / "p.yaml")) == ["1", "2"]
    found = mw.pipeline_linked_data(tmp_path / "p.yaml", masked=[tmp_path / each for each in masked])
    assert keys(found) == ["9", "7"]
    assert found["person"].groups.tolist() == [0, 1, 1]
    assert "age" not in found["person"].data


def test_data_of_one_level_have_no_masked_levels(tmp_path):
    (tmp_path / "few.csv").write_text("age\n31\n47\n", "utf-8")
    (tmp_path / "p.yaml").write_text("maskwright: 1\ndata: {source: few.csv}\n", "utf-8")
    assert mw.pipeline_linked_data(tmp_path / "p.yaml", masked=[tmp_path / "few.csv"]) is None
