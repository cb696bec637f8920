"""Record linkage over keys of any type together: text, ordered categories, numbers and bands of them."""
