"""Pages on the keys of the pipeline file, of experiments and of files of edits, from their JSON Schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from _extension.markdown_text import as_markdown, code, defined
from _extension.value_types import default_in_words, in_words, resolved
from maskwright.edits.languages.yaml.documents import edits_schema
from maskwright.experiments.experiment_file import experiment_schema
from maskwright.pipeline.file_schema import pipeline_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Schema = dict[str, Any]

OF_PLUGINS = ("method.", "measure.", "engine.", "partition.", "source.", "report.", "action.", "plan_check.")
"""Definitions that have pages of their own."""
DEEPEST = 5
"""Keys within keys; a definition that names itself would have no end."""


def key_pages() -> Mapping[str, str]:
    """Text of each page, by the name of its file."""
    return {
        "pipeline-keys.md": _page(
            "Keys of the pipeline file",
            "Every key, its type and its default. `maskwright schema pipeline` prints the JSON Schema that this page "
            "is made from. Parameters of methods and measures stand on the pages of [methods](methods.md) and "
            "[measures](measures.md), options of formats on that of [formats](formats.md).",
            pipeline_schema(third_party=True),
        ),
        "experiment-keys.md": _page(
            "Keys of experiments",
            "Every key of the file that `maskwright compare` and `maskwright tune` read. `data`, `edits` and `measure` "
            "are those of the [pipeline file](pipeline-keys.md).",
            experiment_schema(),
            ("data", "edits", "measure"),
        ),
        "edits-keys.md": _page(
            "Keys of files of edits",
            "Every key of a file of rules in YAML. The language of rules is explained under [topics](topics.md#edits).",
            edits_schema(),
        ),
    }


def _page(title: str, lead: str, schema: Schema, elsewhere: tuple[str, ...] = ()) -> str:
    definitions = schema.get("$defs", {})
    # Of a file that may also be a list, the form with keys.
    _, schema = next(iter(_inside(schema, definitions)))
    required = set(schema.get("required", ()))
    parts = [f"# {title}", lead]
    for name, each in schema.get("properties", {}).items():
        section = resolved(each, definitions)
        default = default_in_words(section, required=name in required)
        parts += [f"## {code(name)}", f"{_first_upper(in_words(section, definitions))}; {default}."]
        parts.append(as_markdown(section.get("description", "")))
        if name not in elsewhere:
            parts.append("\n".join(_keys(section, definitions, "", DEEPEST)))
    return "\n\n".join(part for part in parts if part) + "\n"


def _keys(schema: Schema, definitions: Schema, before: str, deep: int) -> Iterator[str]:
    """Keys inside of a value: ``NAME.role``, where NAME is any, and ``[]`` each of a list."""
    if deep == 0:
        return
    for step, inside in _inside(schema, definitions):
        required = set(inside.get("required", ()))
        for name, each in inside.get("properties", {}).items():
            path = f"{before}{step}{name}"
            section = {**resolved(each, definitions)}
            default = default_in_words(section, required=name in required)
            words = f"{code(path)} — {in_words(section, definitions)}; {default}"
            yield defined(words, as_markdown(section.get("description", "")) or "\\")
            if not _of_a_plugin(each):
                yield from _keys(section, definitions, f"{path}.", deep - 1)


def _inside(schema: Schema, definitions: Schema, step: str = "") -> Iterator[tuple[str, Schema]]:
    """Mappings with keys of their own in a value, each with how it is got to."""
    if _of_a_plugin(schema):
        return
    schema = resolved(schema, definitions)
    if schema.get("properties"):
        yield step, schema
    for variant in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _inside(variant, definitions, step)
    if isinstance(schema.get("items"), dict):
        yield from _inside(schema["items"], definitions, f"{step}[].")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _inside(schema["additionalProperties"], definitions, f"{step}NAME.")


def _of_a_plugin(schema: Schema) -> bool:
    return str(schema.get("$ref", "")).rpartition("/")[2].startswith(OF_PLUGINS)


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]
