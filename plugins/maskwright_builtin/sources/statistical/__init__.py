"""Files of statistical packages: SPSS, Stata and SAS."""
