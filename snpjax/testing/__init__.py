"""Public helpers for tests: reference interpreters in pure Python, and Hypothesis strategies.

`snpjax.testing.reference` needs nothing; `snpjax.testing.strategies` needs Hypothesis
(`pip install "snpjax[testing]"`). Import the module you want.
"""
