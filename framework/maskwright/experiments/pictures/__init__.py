"""Pictures of an experiment: what is drawn, and how it is written as SVG or, by matplotlib, as PNG."""
