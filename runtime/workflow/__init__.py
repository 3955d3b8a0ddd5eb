"""Workflows as data: states, legal moves, roles and the folds over them. Pure."""
