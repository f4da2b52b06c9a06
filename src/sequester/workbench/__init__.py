"""The workbench: the whole way from data to a verified release in a browser, on this machine only.

It computes nothing of its own: every step calls what a command calls, in a process of its own, and shows the
configuration and the command that would repeat it.
"""
