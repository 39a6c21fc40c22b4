"""The command line: no arithmetic here, only words in and tables out."""
