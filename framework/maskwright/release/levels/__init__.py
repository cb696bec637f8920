"""The released form of data of several levels: order, keys, tables."""
