"""JSON Schema of the experiment file, for editors. What it shares with a pipeline is that schema's, by reference."""

from __future__ import annotations

from typing import Any

from maskwright.experiments.file_model import ExperimentFile
from maskwright.pipeline.file_schema import DIALECT, untitled

PIPELINE = "pipeline.schema.json#/properties"
"""The file beside it, as ``maskwright schema`` prints it."""


def experiment_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the experiment file.

    Returns plain JSON data. It refers to ``pipeline.schema.json`` in the same folder for data, edits, measures and
    methods, so that it does not change with the plugins.
    """
    schema: dict[str, Any] = untitled(ExperimentFile.model_json_schema(ref_template="#/$defs/{model}", by_alias=True))
    properties, definitions = schema["properties"], schema["$defs"]
    edits = {"$ref": f"{PIPELINE}/edits"}
    properties |= {
        "data": {"$ref": f"{PIPELINE}/data"},
        "edits": edits,
        "edit_sets": properties["edit_sets"] | {"additionalProperties": edits},
        "measure": {"$ref": f"{PIPELINE}/measure", "minItems": 1},
    }
    method = {"$ref": f"{PIPELINE}/protect/items/properties/method"}
    family = definitions["Family"]["properties"]
    family["method"] = method
    # A parameter that varies may be missing here, so that steps are not held to the pipeline's own schema.
    step = {
        "type": "object",
        "required": ["method"],
        "additionalProperties": False,
        "properties": {"method": method, **{key: {} for key in ("variables", "groups", "params")}},
    }
    family["protect"] = {"type": "array", "minItems": 1, "items": step, "description": family["protect"]["description"]}
    return {"$schema": DIALECT, "title": "Maskwright experiment", **schema}
