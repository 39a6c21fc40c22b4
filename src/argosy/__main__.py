"""`python -m argosy` is the `argosy` command."""

from argosy.cli.main import main

if __name__ == "__main__":  # workers of an MPI pool import this module without being the command
    main()
