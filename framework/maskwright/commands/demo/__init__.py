"""The example: a made-up household survey, its edits and a pipeline, written to a folder."""
