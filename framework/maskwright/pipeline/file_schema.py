"""JSON Schema of the pipeline file, for editors that complete and check while one types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskwright.edits.rule_language.rule_entry import RuleEntry
from maskwright.pipeline.extras.extra import extras_of
from maskwright.pipeline.file_model import DataSection, ExecutionSection, OutputSection, PipelineFile, StepEntry
from maskwright.pipeline.steps import LABEL, PER_RECORD
from maskwright.planning.model import PlanningParams
from maskwright.plugins.guarding.origin import BUILT_IN
from maskwright.plugins.parameter_markers import NamesPartition
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import BaseModel

    from maskwright.plugins.method import Method
    from maskwright.plugins.registered import Registry
    from maskwright.plugins.rules import RuleLanguage

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]


def pipeline_schema(*, third_party: bool = False) -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the pipeline file.

    Parameters
    ----------
    third_party : bool, default False
        Whether plugins of other packages that happen to be installed are in it too.

    Returns
    -------
    dict
        Plain JSON data, the same for the same plugins.

    Examples
    --------
    >>> import maskwright as mw
    >>> schema = mw.pipeline_schema()
    >>> "microaggregation" in schema["properties"]["protect"]["items"]["properties"]["method"]["enum"]
    True
    """
    registry = plugins()
    return _Builder(registry, third_party=third_party).pipeline()


class _Builder:
    """Definitions gathered while the sections are described."""

    def __init__(self, registry: Registry, *, third_party: bool) -> None:
        self.registry, self.third_party = registry, third_party
        self.definitions: Schema = {}

    def chosen(self, kind: str, offered: Mapping[str, Any]) -> list[Any]:
        return [
            plugin
            for name, plugin in offered.items()
            if self.third_party or self.registry.info(kind, name).distribution == BUILT_IN
        ]

    def pipeline(self) -> Schema:
        whole = self.model(PipelineFile, "pipeline")
        whole["properties"] |= {
            "data": self.data(),
            "edits": self.list_of(PipelineFile, "edits", self.edit()),
            "protect": self.list_of(PipelineFile, "protect", self.step()) | {"minItems": 1},
            "measure": self.list_of(PipelineFile, "measure", self.measure()),
            "checks": self.list_of(PipelineFile, "checks", self.extras("checks")),
            "output": self.output(),
            "execution": self.execution(),
            "sections": self.list_of(PipelineFile, "sections", self.extras("sections")),
            "after": self.list_of(PipelineFile, "after", self.extras("after")),
        }
        reached = _reached(whole, self.definitions)
        used = {name: part for name, part in self.definitions.items() if name in reached}
        return {"$schema": DIALECT, "title": "Maskwright pipeline", **whole, "$defs": dict(sorted(used.items()))}

    def model(self, model: type[BaseModel], prefix: str) -> Schema:
        """Describe one model; the models inside it become definitions of their own."""
        schema = model.model_json_schema(ref_template=f"#/$defs/{prefix}.{{model}}")
        for name, inner in schema.pop("$defs", {}).items():
            self.definitions[f"{prefix}.{name}"] = untitled(inner)
        described: Schema = untitled(schema)
        return described

    @staticmethod
    def list_of(model: type[BaseModel], field: str, item: Schema) -> Schema:
        return {"type": "array", "items": item, "description": model.model_fields[field].description}

    def data(self) -> Schema:
        section: Schema = {**self.model(DataSection, "data"), "additionalProperties": False}
        return self.with_options(section, "source", self.chosen("source", self.registry.sources))

    def with_options(self, section: Schema, kind: str, offered: Iterable[Any]) -> Schema:
        """Section with the parameters of plugins among its own keys; a key of several has all their forms."""
        properties: Schema = section["properties"]
        options: dict[str, list[Schema]] = {}
        for plugin in offered:
            for name, option in self.model(plugin.params, f"{kind}.{plugin.name}").get("properties", {}).items():
                description = f"{plugin.name}: {option.get('description', name)}"
                own = [properties[name]] if name in properties else []
                options.setdefault(name, own).append(option | {"description": description})
        properties.update({name: one[0] if len(one) == 1 else {"anyOf": one} for name, one in options.items()})
        return section

    def edit(self) -> Schema:
        files = [
            _single_key(reader.name, self.rule_file(reader), reader.summary)
            for reader in self.chosen("rule_language", self.registry.rule_languages)
            if reader.read is not None
        ]
        text = {"type": "string", "minLength": 1, "description": "A rule, for instance: V9 + V10 == V14"}
        return {"anyOf": [text, self.model(RuleEntry, "edits"), *files]}

    def rule_file(self, reader: RuleLanguage) -> Schema:
        """Name of a rule file, or a mapping of it and the options of its language."""
        name: Schema = {"type": "string", "minLength": 1, "description": "File name."}
        if reader.params is None:
            return name
        options = self.model(reader.params, f"rule_language.{reader.name}")
        with_file = {
            **options,
            "properties": {"file": name, **options.get("properties", {})},
            "required": ["file", *options.get("required", [])],
        }
        return {"anyOf": [name, with_file]}

    def step(self) -> Schema:
        methods = self.chosen("method", self.registry.methods)
        step = self.model(StepEntry, "protect")
        step["properties"]["method"] |= {"enum": [method.name for method in methods]}
        step["properties"]["params"] = {"type": "object", "description": StepEntry.model_fields["params"].description}
        conditions = [self.method(method) for method in methods]
        return step | {"allOf": conditions} if conditions else step

    def method(self, method: Method) -> Schema:
        """Parameters of the steps that use `method`."""
        name = f"method.{method.name}"
        own, planning = self.model(method.params, name), self.model(PlanningParams, "planning")
        params: Schema = {
            "type": "object",
            "description": method.summary,
            "properties": {**planning["properties"], **own.get("properties", {})},
            "additionalProperties": own.get("additionalProperties", True),
        }
        if own.get("required"):
            params["required"] = own["required"]
        naming = method.parameter(NamesPartition)
        if naming is not None:
            choice = params["properties"][naming]
            kept = {key: choice[key] for key in ("description", "default") if key in choice}
            params["properties"][naming] = kept | self.listed("partition", self.registry.partitions)
        self.definitions[name] = params
        consequence: Schema = {"properties": {"params": {"$ref": f"#/$defs/{name}"}}}
        if own.get("required"):
            consequence["required"] = ["params"]
        condition = {"properties": {"method": {"const": method.name}}, "required": ["method"]}
        return {"if": condition, "then": consequence}

    def extras(self, section: str) -> Schema:
        """A name, or the name with parameters."""
        known = extras_of(section)
        choices = [
            _single_key(name, self.model(each.params, f"extra.{name}"), each.summary) for name, each in known.items()
        ]
        return {"anyOf": [{"enum": list(known)}, *choices]}

    def listed(self, kind: str, offered: Mapping[str, Any], more: Schema | None = None) -> Schema:
        """A name of a plugin, or the name with parameters, its own and `more`."""
        found = self.chosen(kind, offered)
        choices = []
        for each in found:
            params = self.model(each.params, f"{kind}.{each.name}")
            if more is not None:
                params["properties"] = params.get("properties", {}) | more
            choices.append(_single_key(each.name, params, each.summary))
        return {"anyOf": [{"enum": [each.name for each in found]}, *choices]}

    def measure(self) -> Schema:
        label = {"type": "string", "minLength": 1, "description": "Label in reports and thresholds."}
        details = {
            "type": "boolean",
            "default": False,
            "description": "Also write the contribution of each masked record, to the confidential record only.",
        }
        return self.listed("measure", self.registry.measures, {LABEL: label, PER_RECORD: details})

    def execution(self) -> Schema:
        section: Schema = {**self.model(ExecutionSection, "execution"), "additionalProperties": False}
        engines = self.chosen("engine", self.registry.engines)
        section["properties"]["engine"] |= {"enum": [engine.name for engine in engines]}
        return self.with_options(section, "engine", engines)

    def output(self) -> Schema:
        section = self.model(OutputSection, "output") | {"additionalProperties": False}
        for report in self.chosen("report", self.registry.reports):
            file = {"type": "string", "minLength": 1, "description": report.summary}
            section["properties"].setdefault(report.name, file)
        return section


def _single_key(key: str, value: Schema, description: str) -> Schema:
    return {
        "type": "object",
        "description": description,
        "properties": {key: value},
        "required": [key],
        "additionalProperties": False,
    }


def untitled(schema: Any, *, names: bool = False) -> Any:
    """Copy without what pydantic adds for Python: titles made of names, and the examples of docstrings."""
    if isinstance(schema, dict):
        return {
            key: value.partition("\n\nExamples\n")[0]
            if key == "description" and isinstance(value, str)
            else untitled(value, names=not names and key == "properties")
            for key, value in schema.items()
            if names or key != "title"
        }
    return [untitled(item) for item in schema] if isinstance(schema, list) else schema


def _reached(whole: Schema, definitions: Schema) -> set[str]:
    """Names of the definitions that the schema uses, directly or not."""
    reached: set[str] = set()
    waiting = list(_references(whole))
    while waiting:
        name = waiting.pop().removeprefix("#/$defs/")
        if name not in reached:
            reached.add(name)
            waiting.extend(_references(definitions[name]))
    return reached


def _references(schema: Any) -> Iterable[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)
