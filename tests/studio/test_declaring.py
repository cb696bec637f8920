"""What is declared of a variable on its page, what rules look like, and what an earlier run left in the folder."""

import html
import re
import time

import pytest


@pytest.fixture(scope="module")
def running(fresh, office_files):
    head, *rows = office_files["people.csv"].decode().splitlines()
    rows = [f"{row},{'small' if at % 2 else 'large'}" for at, row in enumerate(rows)]
    return fresh(office_files | {"people.csv": ("\n".join([f"{head},class", *rows]) + "\n").encode()})


@pytest.fixture(scope="module")
def office(running):
    return running.folder.parent


def variable(running, name):
    end = time.monotonic() + 600
    while "data-again" in (shown := running.ask(f"/part/variables/one?name={name}")[2]):
        assert time.monotonic() < end
        time.sleep(0.1)
    return html.unescape(shown)


def added(answer):
    return html.unescape("".join(re.findall(r"<ins>(.*?)</ins>", answer["html"])))


def test_type_and_missing_codes_are_declared_by_the_form(running, office):
    shown = variable(running, "age")
    type_field, missing_field = "data/variables/age/type", "data/variables/age/missing"
    assert f'name="{type_field}"' in shown
    assert f'name="{missing_field}"' in shown
    form = {"name": "age", "role": "quasi_identifier", "was": "quasi_identifier", type_field: "", missing_field: ""}
    answer = running.act("/variables/propose", **form | {type_field: "integer", missing_field: "[-9, -8]"})
    assert added(answer) == "    age: {role: quasi_identifier, type: integer, missing: [-9, -8]}"
    assert added(running.act("/variables/propose", **form | {"role": "other"})) == "    age: {role: other}"
    answer = running.act("/variables/propose", name="net", role="confidential", was="confidential",
                         **{"data/variables/net/missing": "{-9: refused}"})  # fmt: skip
    assert added(answer) == "    net: {missing: {'-9': refused}}"
    answer = running.act("/variables/propose", name="net", role="confidential", was="confidential")
    assert "net: {role: confidential}" in added(answer)


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
