"""Ways to break the code that some test must notice; scripts/checks/check_mutations.py applies them.

One module per area, each with a list MUTATIONS.
"""
import importlib
import pkgutil

MUTATIONS = [mutation for module in sorted(m.name for m in pkgutil.iter_modules(__path__)) if module != "mutation"
             for mutation in importlib.import_module(f"{__name__}.{module}").MUTATIONS]
