"""Conformance kit: what every plugin must keep, as pytest parameters; and whole pipelines with plugins to be tested.

```python
import pytest
from maskwright.testing import method_checks
from my_package import MY_METHOD

@pytest.mark.parametrize("check", method_checks([MY_METHOD]))
def test_my_method_keeps_the_contract(check):
    check()
```

There is one for each kind: `method_checks`, `measure_checks`, `attack_checks`, `partition_checks`, `source_checks`,
`rule_language_checks`, `report_checks`, `engine_checks`. The fixture `run_pipeline` of ``maskwright.testing.fixtures``
runs a pipeline with plugins that are not installed.
"""

from __future__ import annotations

from maskwright.testing.attacks import attack_checks
from maskwright.testing.clustering import partition_checks
from maskwright.testing.engines import engine_checks
from maskwright.testing.measures import measure_checks
from maskwright.testing.methods import method_checks
from maskwright.testing.pipeline_runs import RanPipeline, RunPipeline, offered, run_pipeline_in
from maskwright.testing.reports import report_checks
from maskwright.testing.rule_languages import RightRules, WrongRules, rule_language_checks
from maskwright.testing.sources import source_checks

__all__ = [
    "RanPipeline",
    "RightRules",
    "RunPipeline",
    "WrongRules",
    "attack_checks",
    "engine_checks",
    "measure_checks",
    "method_checks",
    "offered",
    "partition_checks",
    "report_checks",
    "rule_language_checks",
    "run_pipeline_in",
    "source_checks",
]
