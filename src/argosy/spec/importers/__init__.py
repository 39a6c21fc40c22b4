"""Other people's descriptions of models and jobs, read into the scenario's own types."""
