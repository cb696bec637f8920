"""Built-in partitions."""

from __future__ import annotations

from maskwright_builtin.partitions.maximum_distance.partition import MAXIMUM_DISTANCE
from maskwright_builtin.partitions.mdav.partition import MDAV
from maskwright_builtin.partitions.projection import PROJECTION
from maskwright_builtin.partitions.refine.partition import REFINE
from maskwright_builtin.partitions.univariate.partition import UNIVARIATE
from maskwright_builtin.partitions.variable_size_mdav.partition import VARIABLE_SIZE_MDAV

PARTITIONS = (MDAV, REFINE, MAXIMUM_DISTANCE, VARIABLE_SIZE_MDAV, UNIVARIATE, PROJECTION)
