"""Edits over original values as edits over the categories that are published of them."""
