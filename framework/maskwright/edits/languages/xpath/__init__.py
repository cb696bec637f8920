"""The subset of XPath 1.0 that algebra understands: read, or refused with the reason."""
