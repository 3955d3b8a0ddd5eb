"""The gate: what a proposed action may do, decided without any effect."""
