"""A configuration drafted from the data alone: every role a guess, every guess with its reason."""
