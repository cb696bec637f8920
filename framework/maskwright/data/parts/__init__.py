"""One dataset in parts: files in an order, what each of them holds, and which record stands where."""
