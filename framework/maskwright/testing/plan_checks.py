"""Checks of plan checks: any plan is looked at, none is changed, and what is said of it are sentences."""

from __future__ import annotations

import functools
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.commands.running.plan_checks import plan_for_checks
from maskwright.commands.running.ready import prepare
from maskwright.foundation.progress import Logged
from maskwright.pipeline.reading import read_pipeline
from maskwright.plugins.guarding.further_kinds import checked_findings
from maskwright.plugins.registry import pipelines_own_plugins
from maskwright.testing.checks import (
    Check,
    ChecksOf,
    Params,
    as_the_engine_takes_it,
    check_described,
    params_of,
    require,
)
from maskwright.testing.concurrent_calls import check_calls, fingerprint
from maskwright.testing.conduct import prints_nothing, without_network

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maskwright.plugins.plan_check import PlanCheck, PlanFinding


PEOPLE = "age,region,wages,pensions,income\n" + "".join(
    f"{20 + place},{'NSWE'[place % 4]},{100 * place},{10 * place},{110 * place}\n" for place in range(40)
)
LEAST: Mapping[str, Any] = {"protect": [{"method": "additive_noise"}], "output": {"data": "masked.csv"}}
MOST: Mapping[str, Any] = {
    "edits": ["wages + pensions == income", "age in [0, 120]"],
    "protect": [
        {"method": "microaggregation", "variables": ["wages", "pensions", "income"], "params": {"k": 3}},
        {"method": "additive_noise", "variables": ["age"]},
    ],
    "measure": ["pil", {"sse": {"as": "moved"}}],
    "thresholds": {"pil": 100},
    "waive": [{"doubt": "written-file-not-read-twice", "because": "the kit writes nothing"}],
    "output": {"data": "masked.csv", "record": "run.json", "report": "report.html"},
}
"""Pipelines whose plans checks are tried with."""


def _checks(plan_check: PlanCheck, given: Params) -> Iterator[tuple[str, Check]]:
    yield "parameters", partial(params_of, plan_check, given)
    yield "documented", partial(check_described, plan_check.name, plan_check.summary, plan_check.params)
    for name in ("least", "most"):
        yield f"plan_with_{name}", partial(_sentences, plan_check, given, name)
    yield "found_alike", partial(_alike, plan_check, given)
    yield "concurrent_calls", partial(_concurrent, plan_check, given)
    yield "prints_nothing", partial(_silent, plan_check, given)


plan_check_checks = ChecksOf("plan_check", _checks)


@functools.cache
@pipelines_own_plugins()
def _plan(name: str) -> Mapping[str, Any]:
    """Plan as a check gets it: of a pipeline with as little as it may have, or with something of everything."""
    settings = {"least": LEAST, "most": MOST}[name]
    with tempfile.TemporaryDirectory(prefix="maskwright-") as folder:
        source = Path(folder) / "people.csv"
        source.write_text(PEOPLE, encoding="utf-8")
        output = {key: str(Path(folder) / file) for key, file in settings["output"].items()}
        content = {"maskwright": 1, "data": {"source": str(source)}, "seed": 1, **settings, "output": output}
        described = read_pipeline(content)
        return plan_for_checks(described, prepare(described, Logged()).plan.to_json())


def _found(plan_check: PlanCheck, given: Params, plan: Mapping[str, Any]) -> tuple[PlanFinding, ...]:
    with without_network():
        found = plan_check.check(plan, params_of(plan_check, given))
    return as_the_engine_takes_it("plan_check", plan_check, checked_findings, found)


def _sentences(plan_check: PlanCheck, given: Params, name: str) -> None:
    for each in _found(plan_check, given, _plan(name)):
        require(bool(each.message.strip()), "a finding has no message: say in one sentence what is wrong with the plan")


def _alike(plan_check: PlanCheck, given: Params) -> None:
    one, other = (fingerprint(_found(plan_check, given, _plan("most"))) for _ in range(2))
    require(one == other, "the same plan, looked at twice, gives different findings")


def _concurrent(plan_check: PlanCheck, given: Params) -> None:
    plans = [_plan("least"), _plan("most"), _plan("least"), _plan("most")]
    check_calls(plan_check.check, lambda plan: _found(plan_check, given, plan), plans)


def _silent(plan_check: PlanCheck, given: Params) -> None:
    prints_nothing(lambda: _found(plan_check, given, _plan("most")))
