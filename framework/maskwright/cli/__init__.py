"""The command line: parses, calls one command, prints."""
