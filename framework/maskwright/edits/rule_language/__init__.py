"""The language of one rule: text, or a mapping with a name, a message and so on, read as an edit."""
