"""Built-in partitions."""

from __future__ import annotations

from maskwright_builtin.partitions.mdav import MDAV
from maskwright_builtin.partitions.refine import REFINE

PARTITIONS = (MDAV, REFINE)
