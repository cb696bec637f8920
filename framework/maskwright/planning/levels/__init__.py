"""The plan of data of several levels: who keeps the edits that span records."""
