"""Protection methods, partitions, measures, sources and reports that come with Maskwright."""
