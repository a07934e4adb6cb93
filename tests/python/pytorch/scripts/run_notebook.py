"""Runs notebook.ipynb in a kernel of its own, as `jupyter execute` does; its last cell prints what it found."""
import pathlib

import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(pathlib.Path(__file__).with_name("notebook.ipynb"), as_version=4)
setup, *work, found = notebook.cells
notebook.cells = [setup, *work, *map(nbformat.from_dict, work), found]  # every cell is run a second time
NotebookClient(notebook, timeout=100, kernel_name="python3").execute()
raised = [cell.outputs[-1].ename for cell in notebook.cells if cell.outputs and cell.outputs[-1].output_type == "error"]
assert raised == ["ZeroDivisionError"] * 2, raised
shown = [output.data["text/plain"] for cell in notebook.cells for output in cell.outputs if "data" in output]
print(*shown, sep="\n")
print("".join(output.text for output in notebook.cells[-1].outputs if output.output_type == "stream"), end="")
