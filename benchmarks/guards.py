"""What it costs to call plugins guarded and to look at what they return: whole runs with and without, in one process.

    python benchmarks/guards.py [--records 100000] [--pairs 3]

Runs of the example survey alternate between the two. Without means: plugins are called as they are, nothing that they
return is looked at (not even what was before there were guards), claims are not measured, and what plugins get is not
frozen. Seconds are those of the processor; the ratio is that of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from maskwright.commands.demo.files import write_demo
from maskwright.commands.run import run
from maskwright.commands.running import publish
from maskwright.foundation.progress import Quiet
from maskwright.masking.protecting import local
from maskwright.plugins import registry
from maskwright.release.measures import measuring


def same(given: Any, *_: object) -> Any:
    return given


WITHOUT = (
    (registry, "guarded", same),
    (local, "checked_masked", lambda method, params, block, masked: masked),
    (local, "broken_claims", lambda *_: ()),
    (local, "read_only", same),
    (measuring, "frozen", same),
    (publish, "record_for_reports", lambda record: record.to_json()),
)


def seconds(pipeline: Path, *, guards: bool) -> float:
    """Processor seconds of one run."""
    with ExitStack() as stack:
        for module, name, other in () if guards else WITHOUT:
            stack.enter_context(patch.object(module, name, other))
        registry.plugins.cache_clear()
        registry.plugins()
        start = time.process_time()
        run(pipeline, {"seed": 1}, Quiet())
        return time.process_time() - start


def main() -> None:
    """Print the seconds of each pair, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=3)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = write_demo(Path(folder), chosen.records)
        seconds(files.pipeline, guards=True)  # kernels are compiled or loaded
        print("   pair  without s     with s")
        pairs = []
        for number in range(chosen.pairs):
            # The first of two runs may find the machine in another state: they take turns.
            order = (False, True) if number % 2 == 0 else (True, False)
            found = {guards: seconds(files.pipeline, guards=guards) for guards in order}
            pairs.append((found[False], found[True]))
            print(f"{number + 1:>7} {found[False]:>10.2f} {found[True]:>10.2f}", flush=True)
    without, guarded = (statistics.median(each) for each in zip(*pairs, strict=True))
    print(f" median {without:>10.2f} {guarded:>10.2f}   ratio {guarded / without:.3f}")


if __name__ == "__main__":
    main()
