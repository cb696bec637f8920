"""Small datasets in parts, written by pandas, and pipelines over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from pathlib import Path

ENDINGS = ("csv", "xml", "parquet", "csv.gz", "xml.zst")
STATED: dict[str, Any] = {
    "pid": {"role": "identifier"},
    "age": {"role": "other"},
    "sex": {"role": "other", "release": "as is"},
}
HIVE = {**STATED, "region": {"role": "other", "release": "as is", "type": "nominal"}}


def people(n: int, start: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(start)
    net, tax = rng.integers(100, 9000, n), rng.integers(0, 3000, n)
    return pd.DataFrame(
        {
            "pid": np.arange(start, start + n),
            "age": rng.integers(18, 90, n),
            "net": net,
            "tax": tax,
            "gross": net + tax,
            "sex": pd.array(rng.choice(["f", "m"], n), dtype="str"),
        }
    )


def write(table: pd.DataFrame, path: Path) -> None:
    """Write a file as other programs would."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.name.endswith(".parquet"):
        table.to_parquet(path, index=False)
    elif ".xml" in path.name:
        rows = (
            "  <Record>" + "".join(f"<{name}>{cell}</{name}>" for name, cell in record.items()) + "</Record>\n"
            for record in table.to_dict("records")
        )
        text = '<?xml version="1.0" encoding="UTF-8"?>\n<Microdata>\n' + "".join(rows) + "</Microdata>\n"
        handle: Any = path if path.suffix == ".xml" else None
        if handle is None:
            import pyarrow as pa

            with pa.output_stream(path, compression="zstd") as packed:
                packed.write(text.encode())
        else:
            path.write_text(text, encoding="utf-8")
    else:
        table.to_csv(path, index=False)


def read(path: Path) -> pd.DataFrame:
    """Read a file as other programs would."""
    if path.name.endswith(".parquet"):
        return pd.read_parquet(path)
    if ".xml" in path.name:
        compression: Any = "zstd" if path.name.endswith(".zst") else None
        if compression is not None:
            import pyarrow as pa

            with pa.input_stream(path, compression="zstd") as packed:
                text = packed.read()
        else:
            text = path.read_bytes()
        from lxml import etree

        rows = [{str(cell.tag): cell.text for cell in record} for record in etree.fromstring(text)]
        found = pd.DataFrame(rows)
        return found.astype({name: "int64" for name in found if name != "sex"})
    return pd.read_csv(path)


def in_parts(folder: Path, ending: str, sizes: dict[str, int], keys: dict[str, str] | None = None) -> pd.DataFrame:
    """Write parts of these sizes, and return all records in the order of the parts as given."""
    start, tables = 1, []
    for name, n in sizes.items():
        table = people(n, start)
        start += n
        write(table, folder / f"{name}.{ending}")
        tables.append(table.assign(part=name, **({} if keys is None else {"region": keys[name]})))
    return pd.concat([each for each in tables if len(each)], ignore_index=True)


def settings(source: object, output: object, variables: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "maskwright": 1,
        "data": {"source": str(source), "variables": STATED if variables is None else variables},
        "edits": ["gross == net + tax"],
        "protect": [{"method": "microaggregation", "variables": ["net", "tax", "gross"], "params": {"k": 3}}],
        "output": output if isinstance(output, dict) else {"data": str(output)},
        "seed": 1,
        **more,
    }
