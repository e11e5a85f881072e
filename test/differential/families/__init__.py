"""Generators by operator: each file has a table OPS of those of a family."""
import importlib
import pkgutil

GENERATORS = {}
for module in pkgutil.iter_modules(__path__):
    table = importlib.import_module(f"families.{module.name}").OPS
    twice = GENERATORS.keys() & table.keys()
    assert not twice, f"{twice} in two families"
    GENERATORS.update(table)
