"""Shared by all tests: where the reference data lies, when it does."""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_directory() -> Path:
    """The folder of measurements beside the checkout; a test that needs it is skipped, visibly, where it is absent."""
    folder = REPOSITORY.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no ../shared beside the checkout: measurements and samples are not part of the project")
    return folder
