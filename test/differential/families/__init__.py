"""Generators by operator: each file has a table OPS of those of a family, and
DOMAIN where it is not the standard's own. GENERATORS and DOMAINS have the
operators by their keys."""
import importlib
import pkgutil

from draw import key

GENERATORS, DOMAINS = {}, {}
for module in pkgutil.iter_modules(__path__):
    family = importlib.import_module(f"families.{module.name}")
    domain = getattr(family, "DOMAIN", "")
    table = {key(domain, op): f for op, f in family.OPS.items()}
    twice = GENERATORS.keys() & table.keys()
    assert not twice, f"{twice} in two families"
    GENERATORS.update(table)
    DOMAINS.update(dict.fromkeys(table, domain))
