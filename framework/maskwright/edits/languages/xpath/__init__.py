"""The understood subset of XPath 1.0."""
