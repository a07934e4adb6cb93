"""Ways to break the code that some test must notice; scripts/checks/check_mutations.py applies them.

One module per area, each with a list MUTATIONS, in a folder per room.
"""
import importlib
import pathlib

HERE = pathlib.Path(__file__).parent
MODULES = sorted(".".join(path.relative_to(HERE).with_suffix("").parts) for path in HERE.rglob("*.py"))
MUTATIONS = [mutation for module in MODULES if module not in ("__init__", "mutation")
             for mutation in importlib.import_module(f"{__name__}.{module}").MUTATIONS]
