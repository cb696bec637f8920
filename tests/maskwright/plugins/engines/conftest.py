"""The works of small stages can be imported, here and in the processes of engines."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
