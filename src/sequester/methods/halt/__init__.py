"""Sehatkar (2014), chapter 4: (K,C)^P-privacy by global generalization and suppression."""
