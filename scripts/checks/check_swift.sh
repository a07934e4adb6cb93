#!/bin/bash
# Reads datasets from OpenStack Swift through its S3 middleware. Installs Debian's python3-swift first, as root, if it is missing.
#
#   scripts/checks/check_swift.sh [BUILD_DIR] [PYTHON]   # default: build, .venv/bin/python
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "${1:-build}")
python=${2:-.venv/bin/python}

/usr/bin/python3 -c "import swift" 2>/dev/null || apt-get install -y --no-install-recommends python3-swift
BALE_BUILD_DIR=$build PYTHONPATH=$build/python "$python" -m pytest -q tests/python/remote/test_remote_swift.py
