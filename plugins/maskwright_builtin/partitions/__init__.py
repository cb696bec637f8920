"""Built-in partitions, each imported when it is used."""

from __future__ import annotations

from maskwright import Deferred

PARTITIONS = (
    Deferred("maximum_distance", f"{__name__}.maximum_distance.partition:MAXIMUM_DISTANCE"),
    Deferred("mdav", f"{__name__}.mdav.partition:MDAV"),
    Deferred("mu_approx", f"{__name__}.mu_approx.partition:MU_APPROX"),
    Deferred("projection", f"{__name__}.projection:PROJECTION"),
    Deferred("refine", f"{__name__}.refine.partition:REFINE"),
    Deferred("univariate", f"{__name__}.univariate.partition:UNIVARIATE"),
    Deferred("variable_size_mdav", f"{__name__}.variable_size_mdav.partition:VARIABLE_SIZE_MDAV"),
)
