#!/bin/bash
# Packs and trains on real engines: a Slurm cluster of one node, Ray, and PySpark's local-cluster. Installs what is missing first:
# Debian's Slurm, Java and torch as root, Ray and PySpark (about 600 MB) into the environment .venv-engines.
#
#   scripts/checks/check_engines.sh [BUILD_DIR] [PYTEST-ARGUMENT...]   # default: build
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/packages.sh
build=$(realpath "${1:-build}")
shift || true
venv=$PWD/.venv-engines requirements=tests/python/requirements-engines.txt

install_packages "${BALE_ENGINE_PACKAGES[@]}"
python_environment "$venv" "$requirements" --clear --system-site-packages
BALE_TEST_ENGINES=1 BALE_BUILD_DIR=$build PYTHONPATH=$build/python PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" -m pytest -q \
  -p no:cacheprovider tests/python/launch/test_python_{slurm,ray,ray_train,spark}.py "$@"
