"""Advice on which variables to mask together: partitions counted, judged by correlations alone, then measured."""
