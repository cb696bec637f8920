"""Pictures as figures: where things stand in them, so that templates write SVG and style sheets colour it."""
