"""Compiled code is never older than any source that it was made of."""

import importlib
import shutil
from pathlib import Path

import pytest
from numba import config

import argosy.kernels
from argosy.kernels.compiled import cache_folder, fingerprint, remove_others

SOURCES = sorted(Path(argosy.kernels.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("changed", [path.name for path in SOURCES])
def test_a_change_of_any_source_is_another_cache(changed: str, tmp_path: Path) -> None:
    for path in SOURCES:
        shutil.copy(path, tmp_path)
    assert fingerprint(tmp_path) == fingerprint()
    (tmp_path / changed).write_bytes((tmp_path / changed).read_bytes() + b"\n")
    assert fingerprint(tmp_path) != fingerprint()


def test_all_compiled_functions_have_that_cache() -> None:
    found = 0
    for path in SOURCES:
        module = importlib.import_module(f"argosy.kernels.{path.stem}") if path.stem != "__init__" else None
        for each in vars(module).values() if module else ():
            stats = getattr(each, "stats", None)
            if stats is not None and stats.cache_path is not None:
                assert cache_folder() in Path(stats.cache_path).parents
                found += 1
    assert found > 50
    assert str(cache_folder()) != config.CACHE_DIR  # other users of numba keep their own


def test_caches_of_other_sources_are_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in ("sources_1", "sources_2", "other"):
        (tmp_path / name / "inner").mkdir(parents=True)
    remove_others(tmp_path / "sources_2")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "sources_2"]
