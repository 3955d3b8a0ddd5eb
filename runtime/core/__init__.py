"""Shared vocabulary of the runtime: action types, digests, canonical JSON, errors. Pure."""
