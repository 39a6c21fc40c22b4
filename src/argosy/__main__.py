"""`python -m argosy` is the `argosy` command."""

from argosy.cli.main import main

main()
