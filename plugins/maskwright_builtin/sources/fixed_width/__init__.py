"""Fixed-width microdata, and the metadata of µ-Argus that describe them."""
