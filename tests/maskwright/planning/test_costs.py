"""Expected memory and time: they grow with everything that a run holds, and follow the measured rates."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from maskwright.planning.costs import BASE, MEGABYTE, STAGES, costs_of, reading_costs
from maskwright.planning.model import PartitionChoice, Step
from maskwright.plugins.registry import plugins

RECORDS = st.integers(1, 10**9)
VARIABLES = st.integers(1, 200)


def _step(method: str, partition: str | None = None) -> Step:
    found = plugins().methods[method]
    chosen = None
    if partition is not None:
        named = plugins().partitions[partition]
        chosen = PartitionChoice(named, named.params())
    return Step(found, found.params.model_construct(), partition=chosen)


STEPS = (_step("microaggregation", "mdav"), _step("microaggregation", "refine"), _step("rounding"))


@given(st.sampled_from(STEPS), RECORDS, RECORDS, VARIABLES, VARIABLES, st.none() | st.integers(2, 10**6))
def test_more_of_anything_costs_no_less(step, one, other, few, more, block_size) -> None:
    """Records, variables and masked variables, in every stage."""
    fewer, records = sorted((one, other))
    narrow, wide = sorted((few, more))

    def costs(n: int, variables: int, masked: int, size: int | None = block_size):
        return costs_of(n, variables, [masked], [step], (), size)

    low = costs(fewer, narrow, narrow)
    for high in (costs(records, narrow, narrow), costs(fewer, wide, narrow), costs(records, wide, wide)):
        assert low.peak.bytes <= high.peak.bytes
        assert low.seconds <= high.seconds
        for before, after in zip(low.stages, high.stages, strict=True):
            assert before.bytes <= after.bytes
            assert before.seconds <= after.seconds
    assert costs(records, wide, wide).seconds <= costs(records, wide, wide, None).seconds
    assert reading_costs(fewer, narrow).peak.bytes <= low.peak.bytes


def test_the_figures_that_the_rates_are_made_of() -> None:
    """Ten masked variables in blocks of 50,000: 1,229 MB for 1,000,000 records, 77 s of a processor for 5,000,000."""
    costs = costs_of(5_000_000, 10, [10], [STEPS[0]], (), 50_000)
    assert tuple(each.stage for each in costs.stages) == tuple(STAGES)
    assert 0.9 <= costs_of(1_000_000, 10, [10], [STEPS[0]], (), 50_000).peak.bytes / 1.229e9 <= 1.1
    assert 0.7 <= costs.seconds / 77 <= 1.4
    assert costs.peak.stage == "measure"
    assert BASE / MEGABYTE < 500


def test_variables_that_no_step_masks_cost_what_reading_them_does() -> None:
    alone = costs_of(10**6, 10, [10], [STEPS[2]])
    beside = costs_of(10**6, 30, [10], [STEPS[2]])
    assert beside.peak.bytes - alone.peak.bytes == reading_costs(10**6, 20).peak.bytes - BASE
