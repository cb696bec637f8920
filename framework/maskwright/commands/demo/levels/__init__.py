"""The two-level example: a made-up survey of households and persons in three forms, its edits and its pipelines."""
