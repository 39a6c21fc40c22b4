"""`argosy testbed clean`: after a kill."""


def clean() -> None:
    """Take away what a killed run left: processes in its namespaces, the namespaces, its folders."""
    from argosy.testbed.hosts import clean as take_away

    found = take_away()
    print(f"removed {len(found)} namespaces" if found else "nothing was left")
