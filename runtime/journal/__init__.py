"""The append-only record: event kinds, append, chain, reading, and the hint that rows are there."""
