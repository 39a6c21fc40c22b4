"""Observation: from a running cluster's own files to the ledger of where the time went, and who is to blame."""
