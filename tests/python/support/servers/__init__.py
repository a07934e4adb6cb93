"""Servers for tests of remote datasets; remote_support.py has their fixtures."""
