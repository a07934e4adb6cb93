#!/usr/bin/env python3
"""Copies the headers of the Python that runs this into a folder of their own: usage: python_headers.py FOLDER"""
import pathlib
import shutil
import sys
import sysconfig

folder = pathlib.Path(sys.argv[1])
include = pathlib.Path(sysconfig.get_path("include"))
shutil.copytree(include, folder, dirs_exist_ok=True)
# Debian's pyconfig.h includes <x86_64-linux-gnu/python3.11/pyconfig.h>.
for machine in include.parent.glob(f"*-linux-gnu/{include.name}/pyconfig.h"):
    target = folder / machine.relative_to(include.parent)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(machine, target)
