"""Gwadera, Gkoulalas-Divanis, Loukides (2013): hiding sensitive sequential patterns by permutation."""
