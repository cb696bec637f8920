"""How Sphinx builds the documentation: ``sphinx-build -W --keep-going -n docs docs/_build``."""

from __future__ import annotations

import sys
from pathlib import Path

from maskwright import __version__

# The extension lives beside the pages it makes, and is no installed package.
sys.path.insert(0, str(Path(__file__).parent))

project = "Maskwright"
author = "The Maskwright developers"
copyright = author  # noqa: A001 - Sphinx asks for this name
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "_extension"]
exclude_patterns = ["_build", "_extension", "_static", "README.md"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

# Types stand in the docstrings, where they are written for people; those of signatures would be said twice.
autodoc_typehints = "none"
numpydoc_show_class_members = False

default_role = "code"
# Options begin with two hyphens, and must not become dashes.
smartquotes = False
nitpicky = True

html_theme = "furo"
html_title = f"Maskwright {release}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["maskwright.css"]
html_copy_source = False
html_show_sphinx = False
