"""Conformance kit: what every plugin must keep, as pytest parameters; and whole pipelines with plugins to be tested.

```python
import pytest
from maskwright.testing import method_checks
from my_package import MY_METHOD

@pytest.mark.parametrize("check", method_checks([MY_METHOD]))
def test_my_method_keeps_the_contract(check):
    check()
```

There is one for each kind: `method_checks`, `measure_checks`, `partition_checks`, `aggregation_checks`,
`constraint_checks`, `source_checks`, `edit_reader_checks`, `report_checks`, `rule_writer_checks`, `plan_check_checks`,
`report_section_checks`, `action_checks`, `command_checks`, `engine_checks`. The fixture `run_pipeline` of
``maskwright.testing.fixtures`` runs a pipeline with plugins that are not installed.
"""

from __future__ import annotations

from maskwright.testing.clustering import aggregation_checks, partition_checks
from maskwright.testing.constraints import Verdicts, constraint_checks
from maskwright.testing.edit_readers import RightRules, WrongRules, edit_reader_checks
from maskwright.testing.engines import engine_checks
from maskwright.testing.measures import measure_checks
from maskwright.testing.methods import method_checks
from maskwright.testing.pipeline_runs import RanPipeline, RunPipeline, offered, run_pipeline_in
from maskwright.testing.reports import report_checks, report_section_checks
from maskwright.testing.rule_writers import rule_writer_checks
from maskwright.testing.run_extensions import action_checks, command_checks, plan_check_checks
from maskwright.testing.sources import source_checks

__all__ = [
    "RanPipeline",
    "RightRules",
    "RunPipeline",
    "Verdicts",
    "WrongRules",
    "action_checks",
    "aggregation_checks",
    "command_checks",
    "constraint_checks",
    "edit_reader_checks",
    "engine_checks",
    "measure_checks",
    "method_checks",
    "offered",
    "partition_checks",
    "plan_check_checks",
    "report_checks",
    "report_section_checks",
    "rule_writer_checks",
    "run_pipeline_in",
    "source_checks",
]
