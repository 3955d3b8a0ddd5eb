"""Processes that do the work: the queue's entry point, the reconciler and their supervisor."""
