"""The command line: each command is a thin call of one service."""
