"""One person's sequence: mutual information privacy by generalization (Bonomi, Fan, Jin 2016)."""
