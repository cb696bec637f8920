"""Conformance kit: what every plugin must keep, as pytest parameters.

```python
import pytest
from maskwright.testing import method_checks
from my_package import MY_METHOD

@pytest.mark.parametrize("check", method_checks([MY_METHOD]))
def test_my_method_keeps_the_contract(check):
    check()
```
"""

from __future__ import annotations

from maskwright.testing.measures import measure_checks
from maskwright.testing.methods import method_checks
from maskwright.testing.partitions import partition_checks

__all__ = ["measure_checks", "method_checks", "partition_checks"]
