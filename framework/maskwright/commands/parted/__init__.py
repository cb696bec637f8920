"""The run over parts: every stage reads one part or one shard, so that a file may be larger than memory."""
