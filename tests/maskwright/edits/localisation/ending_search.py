"""A search for fields whose process ends."""

import os


def end(*_):
    os._exit(3)
