"""Any XML document, checked as a whole against any Schematron schema by a real engine: no records, no masking."""
