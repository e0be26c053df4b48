"""A judge of promises that is written from docs/proofs and shares no code with what it judges."""
