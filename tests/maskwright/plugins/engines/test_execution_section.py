"""The execution section: an engine by name, its parameters beside the section's own keys, and mistakes in them."""

from __future__ import annotations

import json

import pytest

import maskwright as mw
from maskwright.cli.show.explain import explain
from maskwright.pipeline.file_schema import pipeline_schema
from maskwright.pipeline.reading import resolve_file

PIPELINE = """\
maskwright: 1
data: {source: people.csv}
protect: [{method: microaggregation, params: {k: 3}}]
output: {data: masked.csv}
"""


@pytest.fixture
def resolved(tmp_path):
    (tmp_path / "people.csv").write_text("age,wage\n" + "".join(f"{each},{each}\n" for each in range(30)))

    def resolve(execution, overrides=()):
        file = tmp_path / "p.yaml"
        file.write_text(PIPELINE + (f"execution: {execution}\n" if execution else ""))
        return resolve_file(file, overrides)

    return resolve


def test_no_engine_is_a_run_in_memory(resolved):
    assert resolved("").engine is None
    assert resolved("{workers: 2, processes: true}").engine is None


@pytest.mark.parametrize(
    ("execution", "idle"),
    [
        ("{workers: 4}", True),
        ("{workers: 4, processes: true}", True),
        ("{workers: 1}", False),
        ("{block_size: 10}", False),
        ("{workers: 4, block_size: 10}", False),
        ("{workers: 2, engine: local}", False),
    ],
)
def test_workers_that_have_nothing_to_share_are_said(resolved, tmp_path, execution, idle):
    resolved(execution)
    said = [
        each
        for each in [each["message"] for each in mw.plan_pipeline(tmp_path / "p.yaml")["notices"]]
        if "workers: 4 mask blocks" in each
    ]
    assert bool(said) == idle
    assert all("block_size: 50000" in each and "engine: processes" in each for each in said)


def test_an_engine_has_parameters_of_its_own(resolved, tmp_path):
    pipeline = resolved("{engine: processes, workers: 4, memory_limit: 4GB, scratch: big}")
    assert pipeline.engine.plugin.name == "processes"
    assert pipeline.engine.params.memory_limit == "4GB"
    assert pipeline.engine.scratch == tmp_path / "big"
    assert pipeline.execution.workers == 4


def test_names_of_files_are_relative_to_the_pipeline(resolved, tmp_path):
    tls = "{ca: ca.pem, cert: keys/cert.pem, key: /etc/key.pem}"
    params = resolved(f"{{engine: dask, address: 'tls://node1:8786', tls: {tls}}}").engine.params
    assert params.tls.ca == tmp_path / "ca.pem"
    assert params.tls.cert == tmp_path / "keys" / "cert.pem"
    assert str(params.tls.key) == "/etc/key.pem"


def test_the_engine_may_be_said_on_the_command_line(resolved):
    overrides = ["execution.engine=dask", "execution.workers=3", "execution.address=tcp://127.0.0.1:8786"]
    pipeline = resolved("", overrides)
    assert (pipeline.engine.plugin.name, pipeline.execution.workers) == ("dask", 3)
    assert pipeline.engine.params.address == "tcp://127.0.0.1:8786"


@pytest.mark.parametrize(
    ("execution", "said"),
    [
        ("{engine: dusk}", "no engine called 'dusk'; did you mean 'dask'?"),
        ("{engine: processes, adress: x}", "no key called 'adress'"),
        ("{engine: processes, address: x}", "'address' is a parameter of the engine dask, and this is processes"),
        ("{address: x}", "'address' is a parameter of the engine dask, and no engine is named"),
        ("{enginee: dask}", "no key called 'enginee'; did you mean 'engine'?"),
        ("{engine: processes, processes: true}", "'processes' and 'engine' exclude each other"),
        ("{engine: processes, memory_limit: lots}", "memory_limit"),
        ("{engine: dask, tls: {ca: a.pem}}", "'cert' is missing"),
        ("{scratch: big}", "'scratch' is used by engines, and no engine is named"),
        ("{engine: [dask]}", "engine: expected text, not a list"),
        ("[dask]", "expected a mapping of keys"),
    ],
)
def test_mistakes_have_their_place(resolved, execution, said):
    with pytest.raises(mw.PipelineError) as caught:
        resolved(execution)
    problem = next(each for each in caught.value.problems if said in each.message)
    assert problem.place.line == 5


def test_the_schema_has_the_parameters_of_the_engines():
    section = pipeline_schema()["properties"]["execution"]["properties"]
    assert section["engine"]["enum"] == ["dask", "local", "processes"]
    assert {"workers", "block_size", "address", "tls", "memory_limit", "scratch"} <= set(section)
    assert section["address"]["description"].startswith("dask: ")
    assert json.dumps(section)


@pytest.mark.parametrize("name", ["local", "processes", "dask"])
def test_engines_are_explained(name):
    assert f"{name}: engine of maskwright" in explain(name)
