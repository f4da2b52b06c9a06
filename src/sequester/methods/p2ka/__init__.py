"""Pensa, Monreale, Pinelli, Pedreschi (2008): sequence k-anonymity with a prefix tree."""
