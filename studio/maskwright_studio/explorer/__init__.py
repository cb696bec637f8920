"""The explorer: fuzzy c-regression and constrained fuzzy c-means on points of a plane, one iteration at a time."""
