"""A small world of plugins, so that these tests do not depend on which ones come with Maskwright."""

from __future__ import annotations

import types
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import pytest
from pydantic import BaseModel, Field

from maskwright import (
    Masked,
    Measure,
    Measurement,
    Method,
    NamesPartition,
    Partition,
    PromisesK,
    Report,
    Source,
    hookimpl,
)
from maskwright.plugins import registry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class XmlOptions(BaseModel, extra="forbid", frozen=True):
    """Options of XML."""

    record: str | None = None


class CsvOptions(BaseModel, extra="forbid", frozen=True):
    """Options of CSV."""

    delimiter: str = Field(default=",", min_length=1, max_length=1)
    encoding: str = "utf-8"


class Tuning(BaseModel, extra="forbid", frozen=True):
    """A model inside a model."""

    rounds: int = Field(default=1, ge=1)


class MicroParams(BaseModel, extra="forbid", frozen=True):
    """Parameters."""

    k: Annotated[int, PromisesK()] = Field(ge=2, description="Smallest cluster.")
    partition: Annotated[str | dict[str, dict[str, object]], NamesPartition()] = "mdav"
    distance: Literal["euclidean", "manhattan"] = "euclidean"
    spread: float | None = Field(default=None, gt=0)
    tuning: Tuning = Tuning()
    cutoffs: Annotated[tuple[float, ...], Field(max_length=3)] = ()


class LinkageParams(BaseModel, extra="forbid", frozen=True):
    """Parameters."""

    known: int = Field(default=1, ge=1)


class RefineParams(BaseModel, extra="forbid", frozen=True):
    """Parameters."""

    passes: int = Field(default=1, ge=1)


def _protect(block, params, rng):
    return Masked(block.values, block.missing)


def _compute(comparison, params, rng):
    return Measurement(0.0)


def _cluster(block, k, params, rng):
    return np.zeros(block.n, dtype=np.int64)


def _open(path, params, progress):
    raise AssertionError("not opened here")


def _write(path, batches, variables, layout):
    raise AssertionError("not written here")


WORLD = types.ModuleType("small_world")
WORLD.CONTRACT = 2  # type: ignore[attr-defined]
WORLD.register_sources = hookimpl(  # type: ignore[attr-defined]
    lambda: [
        Source(name="xml", suffixes=(".xml",), open=_open, write=_write, params=XmlOptions),
        Source(name="csv", suffixes=(".csv", ".tsv"), open=_open, write=_write, params=CsvOptions),
    ]
)
WORLD.register_partitions = hookimpl(  # type: ignore[attr-defined]
    lambda: [Partition(name="mdav", cluster=_cluster), Partition(name="refine", cluster=_cluster, params=RefineParams)]
)
WORLD.register_methods = hookimpl(  # type: ignore[attr-defined]
    lambda: [
        Method(name="microaggregation", protect=_protect, params=MicroParams),
        Method(name="noise", protect=_protect),
    ]
)
WORLD.register_measures = hookimpl(  # type: ignore[attr-defined]
    lambda: [
        Measure(name="pil", compute=_compute, range=(0.0, 100.0)),
        Measure(name="sse", compute=_compute),
        Measure(
            name="distance_record_linkage", compute=_compute, kind="risk", range=(0.0, 100.0), params=LinkageParams
        ),
    ]
)
WORLD.register_reports = hookimpl(lambda: [Report(name="report", write=lambda path, record: None)])  # type: ignore[attr-defined]


class WorldEntryPoint(EntryPoint):
    """Entry point of a module that is in memory."""

    def load(self):
        return WORLD


@pytest.fixture(autouse=True)
def small_world(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "entry_points", lambda group: [WorldEntryPoint("world", "small_world", "maskwright")])
    registry.plugins.cache_clear()
    yield
    registry.plugins.cache_clear()


PIPELINE = """\
maskwright: 1
data:
  source: census16.xml
  record: Record
  variables: {V1: {role: weight}, sex: {type: nominal, categories: [01, no, 2], missing: 9}}
edits:
  - schematron: census16.sch
  - V3 in [0, 7500]
  - {rule: if V8 < 1115 then V13 <= V12, name: wages, severity: error}
on_input_violation: mask
protect:
  - method: microaggregation
    params: {k: 5, partition: mdav, group_size: 3}
  - method: noise
measure:
  - pil
  - distance_record_linkage: {known: 7, as: linkage7}
  - sse
thresholds: {pil: 50}
output: {data: masked.xml, svrl: masked.svrl.xml, report: report.html, record: run.json, public_record: about.json}
seed: 42
execution: {workers: 2}
"""


class Folder:
    """A folder with the files that the pipeline names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "census16.xml").write_text("<Records/>")
        (path / "census16.sch").write_text("<schema/>")

    def pipeline(self, text: str = PIPELINE) -> Path:
        file = self.path / "pipeline.yaml"
        file.write_text(text, encoding="utf-8")
        return file

    def changed(self, old: str, new: str) -> Path:
        assert old in PIPELINE
        return self.pipeline(PIPELINE.replace(old, new))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)
