"""Generators by operator: each file has a table OPS of those of a family, and
DOMAIN where it is not the standard's own."""
import importlib
import pkgutil

GENERATORS, DOMAINS = {}, {}
for module in pkgutil.iter_modules(__path__):
    family = importlib.import_module(f"families.{module.name}")
    table = family.OPS
    twice = GENERATORS.keys() & table.keys()
    assert not twice, f"{twice} in two families"
    GENERATORS.update(table)
    DOMAINS.update(dict.fromkeys(table, getattr(family, "DOMAIN", "")))
