"""Reposition: l-eligible snapshots of a stream, and what may follow them (Wang, Xu, Wong, Fu 2010)."""
