"""Results that are not those of the pipeline and the data as they stand are told as what they are."""

import html
import os
import re

import pytest
import yaml


@pytest.fixture
def running(fresh, office):
    """A studio on a folder with a data file that no pipeline masks yet."""
    return fresh({"firms.csv": (office / "people.csv").read_bytes(), "pipeline.yaml": PIPELINE}, may_have_run=True)


PIPELINE = b"""\
maskwright: 1
data: {source: firms.csv, variables: {age: {role: quasi_identifier}}}
protect: [{method: microaggregation, params: {k: 5}}]
output: {data: masked.csv}
seed: 7
"""


def folder_of(running):
    return running.folder.parent


def outputs(running, name):
    return yaml.safe_load((folder_of(running) / name).read_text("utf-8"))["output"]


def ran(running):
    """The end of a run of the open pipeline, with a step and no doubts."""
    running.act("/run/start")
    shown = running.settled("/part/run/progress")
    assert "Released" in shown, shown
    return shown


def written(running, name, **output):
    """Write a pipeline that releases, and open it."""
    text = (
        "maskwright: 1\ndata: {source: firms.csv, variables: {age: {role: quasi_identifier}}}\n"
        f"protect: [{{method: microaggregation, params: {{k: 5}}}}]\noutput: {output}\nseed: 7\n"
    )
    (folder_of(running) / name).write_text(text, "utf-8")
    assert not running.act("/open/choose", pipeline=name)["wrong"]


def test_two_pipelines_from_one_file_write_files_of_their_own(running):
    assert not running.act("/open/start", data="firms.csv", to="firms.yaml")["wrong"]
    answer = running.act("/open/start", data="firms.csv", to="second.yaml")
    assert "names of their own" in answer["say"]
    first, second = outputs(running, "firms.yaml"), outputs(running, "second.yaml")
    assert first["data"] == "firms-masked.csv"
    assert second["data"] == "second-masked.csv"
    assert first.keys() == second.keys()
    assert not set(first.values()) & set(second.values())
    assert "holds the seed: confidential" in (folder_of(running) / "second.yaml").read_text("utf-8")
    (folder_of(running) / "second.yaml").rename(folder_of(running) / "moved.yaml")
    running.act("/open/start", data="firms.csv", to="second.yaml")
    assert outputs(running, "second.yaml")["data"] == "second-2-masked.csv"


def test_classes_are_told_with_the_k_of_their_own(running):
    text = (
        "maskwright: 1\ndata: {source: firms.csv, variables: {age: {role: quasi_identifier}}}\n"
        "protect:\n- {method: microaggregation, variables: [age], params: {k: 6}}\n"
        "- {method: microaggregation, variables: [gross, net, tax], params: {k: 5}}\n"
        "output: {data: out.csv}\nseed: 7\n"
    )
    (folder_of(running) / "one.yaml").write_text(text, "utf-8")
    running.act("/open/choose", pipeline="one.yaml")
    shown = ran(running).partition("Records that are alike")[2]
    for k in (6, 5):
        cells = re.search(rf"on any one variable group of k {k}</th>(.*?)</tr>", shown)[1]
        assert re.findall(r">([^<]+)<", cells) == [str(k), str(k), "0"]


@pytest.mark.parametrize("record", [True, False])
def test_results_of_another_pipeline_are_told_by_its_name(studio, running, record):
    output = {"data": "out.csv", "report": "out.html"} | ({"record": "run.json"} if record else {})
    written(running, "one.yaml", **output)
    ran(running)
    assert "another pipeline" not in running.view("/report")
    written(running, "two.yaml", **output, public_record="about.json")
    if record:  # what the record says holds for another studio, too
        running = studio(folder_of(running) / "two.yaml")
    for page in ("/report", "/before-and-after"):
        assert "was made by another pipeline, one.yaml, at" in running.view(page)
        assert "earlier version" not in running.view(page)


def test_data_that_were_changed_after_a_release_are_noticed(studio, running):
    output = {"data": "out.csv", "report": "out.html", "record": "run.json"}
    written(running, "one.yaml", **output)
    ran(running)
    later = studio(folder_of(running) / "one.yaml")
    data = folder_of(running) / "firms.csv"
    for each in (running, later):
        for page in ("/report", "/before-and-after", "/run"):
            assert "The data were" not in html.unescape(each.view(page))
    text, kept = data.read_text("utf-8"), data.stat()
    data.write_text(text.replace("20,0,0,0", "29,0,0,0"), "utf-8")
    assert data.stat().st_size == kept.st_size
    assert "The data were changed since this run began" in running.view("/run")
    for each in (running, later):
        for page in ("/report", "/before-and-after"):
            assert "The data were changed since out." in each.view(page)
    for changed in (text + "29,0,0,0\n", None):
        data.unlink() if changed is None else data.write_text(changed, "utf-8")
        assert "The data were changed since out." in running.view("/before-and-after")
    data.write_text(text, "utf-8")  # as it was, with another time, for the run that this studio has seen too
    for each in (running, later):
        for page in ("/report", "/before-and-after"):
            assert "The data were" not in each.view(page)
    assert "The data were" not in running.view("/run")
    os.utime(data, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    for each in (running, later):
        assert "The data were" not in each.view("/report")
