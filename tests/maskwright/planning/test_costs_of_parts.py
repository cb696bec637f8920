"""Expected costs over parts: memory of a worker follows its part and block, everything else the file."""

from __future__ import annotations

from dataclasses import replace

import pytest

from maskwright.planning.costs import Shape, costs_over_parts
from maskwright.planning.model import PartitionChoice, Step
from maskwright.plugins.registry import plugins

CENSUS = Shape(500_000_000, 10, 50_000, 50_000, 640_000, 64)


def _step(partition: str) -> Step:
    method, named = plugins().methods["microaggregation"], plugins().partitions[partition]
    return Step(method, method.params.model_construct(), partition=PartitionChoice(named, named.params()))


@pytest.mark.parametrize(("partition", "hours"), [("mdav", 2.8), ("refine", 6.0)])
def test_500_million_records_on_paper(partition: str, hours: float) -> None:
    """Ten variables: core-hours as they are worked out for 16 microseconds a record, and 34."""
    costs = costs_over_parts(CENSUS, [10], [_step(partition)])
    assert costs.seconds / 3600 == pytest.approx(hours, rel=0.25)
    assert costs.peak.bytes <= 0.6e9
    assert costs.leader <= 0.6e9


def test_what_was_measured_of_200_000_records() -> None:
    """A worker took 386 MB, and 90 MB were written on the way."""
    costs = costs_over_parts(Shape(200_000, 10, 50_000, 50_000, 200_000, 1), [10], [_step("mdav")])
    assert costs.peak.bytes == pytest.approx(386e6, rel=0.1)
    assert costs.scratch == pytest.approx(90e6, rel=0.1)


def test_memory_follows_parts_and_blocks_and_not_the_file() -> None:
    step = [_step("mdav")]
    ten = costs_over_parts(CENSUS, [10], step)
    assert costs_over_parts(replace(CENSUS, records=5_000_000_000), [10], step).peak.bytes == ten.peak.bytes
    parts = costs_over_parts(replace(CENSUS, part=500_000), [10], step)
    assert parts.peak.bytes > ten.peak.bytes
    assert parts.peak.stage in ("finish", "measure")
    assert costs_over_parts(replace(CENSUS, block=500_000), [10], step).peak.stage == "mask and adjust"


def test_methods_that_change_each_record_by_itself_are_not_shuffled() -> None:
    rounding = plugins().methods["rounding"]
    costs = costs_over_parts(CENSUS, [10], [Step(rounding, rounding.params.model_construct())])
    assert {each.stage: each.seconds for each in costs.stages}["shuffle"] == 0
