"""From records to what a person sees: view models and HTML fragments. No queries, no rules."""
