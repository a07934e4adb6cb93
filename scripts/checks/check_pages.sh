#!/bin/bash
# Opens the pages that bale writes, and what a notebook shows, in Debian's Chromium: narrow and wide, light and dark, printed, by keyboard,
# with 10,000 classes and names of many scripts. Installs Chromium and fonts as root, Playwright (40 MB) into the environment .venv-pages.
#
#   scripts/checks/check_pages.sh [BUILD_DIR] [PYTEST-ARGUMENT...]   # default: build
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/packages.sh
build=$(realpath "${1:-build}")
shift || true
venv=$PWD/.venv-pages requirements=tests/python/requirements-pages.txt

install_packages "${BALE_PAGES_PACKAGES[@]}"
python_environment "$venv" "$requirements" --clear
BALE_TEST_PAGES=1 BALE_BUILD_DIR=$build PYTHONPATH=$build/python PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" -m pytest -q \
  -p no:cacheprovider tests/python/pages "$@"
