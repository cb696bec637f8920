"""Synthetic and hybrid data: values drawn anew, with regressions, means and covariances of the original."""

from __future__ import annotations

from maskwright_builtin.methods.synthetic.cart_synthesis import CART_SYNTHESIS
from maskwright_builtin.methods.synthetic.fuzzy_c_regression import FUZZY_C_REGRESSION
from maskwright_builtin.methods.synthetic.micro_hybrid import MICRO_HYBRID
from maskwright_builtin.methods.synthetic.regression_synthesis import IPSO, MURALIDHAR_SARATHY

__all__ = ["CART_SYNTHESIS", "FUZZY_C_REGRESSION", "IPSO", "MICRO_HYBRID", "MURALIDHAR_SARATHY"]
