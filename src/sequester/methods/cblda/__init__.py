"""Sehatkar (2014), chapter 5: classes of persons whose histories are made to look alike."""
