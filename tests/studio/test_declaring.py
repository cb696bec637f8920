"""What is declared of a variable on its page, what rules look like, and what an earlier run left in the folder."""

import html
import re
import time

import pytest

from maskwright_studio.declared_lists import listed


@pytest.fixture(scope="module")
def running(fresh, office_files):
    head, *rows = office_files["people.csv"].decode().splitlines()
    rows = [f"{row},{'small' if at % 2 else 'large'}" for at, row in enumerate(rows)]
    return fresh(office_files | {"people.csv": ("\n".join([f"{head},class", *rows]) + "\n").encode()})


@pytest.fixture(scope="module")
def office(running):
    return running.folder.parent


def table(running):
    return html.unescape(running.settled("/part/variables/every"))


EVERY_ROLE, EVERY_TYPE = (f"{fact} of those that are selected" for fact in ("role", "type"))


def added(answer):
    return html.unescape("".join(re.findall(r"<ins>(.*?)</ins>", answer["html"])))


def changes(answer):
    found = re.findall(r"<(ins|del)>(.*?)</", answer["html"])
    return [f"{'+' if kind == 'ins' else '-'}{html.unescape(line)}" for kind, line in found]


def test_role_type_and_missing_codes_are_declared_in_the_row(running):
    shown = table(running)
    role, type_field, missing = (f"data/variables/age/{key}" for key in ("role", "type", "missing"))
    for name in (role, type_field, missing, "data/variables/age/label"):
        assert f'name="{name}"' in shown
    form = {role: "quasi_identifier", type_field: "", missing: ""}
    answer = running.act("/variables/propose", **form | {type_field: "integer", missing: "[-9, -8]"})
    assert added(answer) == "    age: {role: quasi_identifier, type: integer, missing: [-9, -8]}"
    assert added(running.act("/variables/propose", **form | {role: "other"})) == "    age: {role: other}"
    answer = running.act("/variables/propose", **{"data/variables/net/missing": "{-9: refused}"})
    assert added(answer) == "    net: {missing: {'-9': refused}}"
    answer = running.act("/variables/propose", **{"data/variables/net/role": "confidential"})
    assert "net: {role: confidential}" in added(answer)
    assert "Nothing was changed" in running.act("/variables/propose", **form)["say"]


def test_nothing_is_preselected_of_what_is_not_declared(running):
    (row,) = [each for each in table(running).split("<tr") if 'aria-label="Role of class"' in each]
    role = row[row.index('aria-label="Role of class"') :].split("</select>")[0]
    assert '<option value="">not declared</option>' in role
    assert "selected" not in role


def test_a_role_is_set_for_all_that_are_selected_by_one_short_difference(running):
    every = "role of those that are selected"
    answer = running.act("/variables/propose", **{every: "confidential", "selected": ["gross", "tax", "age"]})
    lines = html.unescape("\n".join(re.findall(r"<(?:ins|del)>(.*?)</", answer["html"]))).splitlines()
    assert lines == [
        "    age: {role: quasi_identifier}",
        "    age: {role: confidential}",
        "  roles:",
        "    confidential: [gross, tax]",
    ]
    assert "no role is chosen" in running.act("/variables/propose", selected="gross")["say"].lower()
    assert "no variable is selected" in running.act("/variables/propose", **{every: "other"})["say"].lower()
    assert "no role secret" in running.act("/variables/propose", **{every: "secret", "selected": "age"})["say"]
    typed = running.act("/variables/propose", **{EVERY_TYPE: "integer", "selected": ["gross", "tax"]})
    assert added(typed) == "  types:    integer: [gross, tax]"
    assert "no type small" in running.act("/variables/propose", **{EVERY_TYPE: "small", "selected": "age"})["say"]


def test_names_move_from_list_to_list_and_many_are_one_pattern(running, office):
    before = (office / "pipeline.yaml").read_text("utf-8")
    try:
        lists = "  roles:\n    confidential: [gross, net]   # amounts\n    other: [class, tax]\n"
        (office / "pipeline.yaml").write_text(before.replace("edits:\n", f"{lists}edits:\n"), "utf-8")
        running.act("/open/read_again")
        shown = table(running)
        assert "by a list" in shown
        role = {f"data/variables/{name}/role": "" for name in ("gross", "tax", "net", "class")}
        answer = running.act(
            "/variables/propose", **role | {EVERY_ROLE: "confidential", "selected": ["tax", "net", "class"]}
        )
        assert changes(answer) == [
            "-    confidential: [gross, net]   # amounts", "-    other: [class, tax]",
            "+    confidential: [gross, net, tax, class]   # amounts",
        ]  # fmt: skip
        answer = running.act("/variables/propose", **role | {"data/variables/tax/role": "confidential"})
        assert changes(answer)[-1] == "+    other: [class]"
        assert (
            "declared so already"
            in running.act("/variables/propose", **role | {EVERY_ROLE: "other", "selected": ["tax", "class"]})["say"]
        )
    finally:
        (office / "pipeline.yaml").write_text(before, "utf-8")
        running.act("/open/read_again")


def test_a_mistake_is_named_on_the_button_that_saves_it(running):
    form = {"part": "step/1", "protect/0/params/k": "0"}
    assert "Save this change with its mistake" in running.act("/pipeline/preview", **form)["html"]
    assert "with its mistake" not in running.act("/pipeline/preview", **form | {"protect/0/params/k": "6"})["html"]


def test_the_language_of_rules_is_on_the_page(running):
    shown = html.unescape(running.view("/rules"))
    assert "How rules are written" in shown
    assert "if age < 16 then wages == 0" in shown


def test_results_of_an_earlier_run_are_named_before_the_first_run(running, office):
    assert "Results of an earlier run" not in running.view("/run")
    (office / "masked.csv").write_text("age,gross,tax,net\n", "utf-8")
    assert "Results of an earlier run are in the folder: masked.csv." in running.view("/run")


def counted(running, rule):
    end = time.monotonic() + 600
    while "never occurs" not in (shown := html.unescape(running.act("/rules/count", rule=rule)["html"])):
        if "Violated in" in shown:
            return shown
        assert time.monotonic() < end
        time.sleep(0.1)
    return shown


def test_a_text_that_never_occurs_is_said(running):
    assert "“Small” never occurs in class" in counted(running, "class == 'Small'")
    shown = counted(running, 'if class in {"small", "Large"} then tax >= 0')
    assert "“Large” never occurs in class" in shown
    assert "“small”" not in shown
    assert "never occurs" not in counted(running, "class != 'small' or tax >= 0")


def test_variables_that_begin_alike_are_one_pattern():
    every = [f"q{at}" for at in range(1, 400)] + ["age", "quiet"]
    operations, notes = listed({"data": {"source": "a.csv"}}, "role", dict.fromkeys(every[:399], "other"), every[:400])
    assert operations == [["names", ["data", "roles", "other"], ["q*"]]]
    assert "q* stands for these 399 variables" in notes[0]
    (operation,), notes = listed({}, "role", dict.fromkeys(every[:399], "other"), every)  # quiet begins so too
    assert operation == ["names", ["data", "roles", "other"], every[:399]]
    assert not notes
    settings = {"data": {"roles": {"other": ["q*"], "confidential": ["age"]}}}
    assert listed(settings, "role", {"q7": "other", "age": "confidential"}, every) == ([], [])
    operations, _ = listed(settings, "role", dict.fromkeys(every[:5], "confidential"), every)
    assert operations == [["names", ["data", "roles", "confidential"], ["age", *every[:5]]]]
