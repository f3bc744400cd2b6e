"""Rules about indices and assignments."""
