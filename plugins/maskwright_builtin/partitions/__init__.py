"""Built-in partitions."""

from __future__ import annotations

from maskwright_builtin.partitions.mdav import MDAV

PARTITIONS = (MDAV,)
