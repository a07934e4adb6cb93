"""The build directory is a tree: whoever follows its links (recursive globs, file watchers) comes to an end."""
import os
import pathlib
import subprocess

from conftest import BUILD, REPO


def links_to_directories(root):
    for folder, directories, _ in os.walk(root):
        for name in directories:
            path = pathlib.Path(folder, name)
            if path.is_symlink():
                yield path


def test_no_link_leads_back():
    links = list(links_to_directories(BUILD))
    assert any(link.parent.name == "bale" for link in links)  # include/bale has some
    for link in links:
        target, place = link.resolve(), link.parent.resolve()
        assert target != place and target not in place.parents, f"{link} leads back to {target}"


def test_an_old_link_is_replaced(tmp_path):
    """A build directory of an earlier version has one link to the whole tree."""
    script = tmp_path / "CMakeLists.txt"
    for room in ("formats", "reader", "writer", "loader", "tools", "python", "tests"):
        (tmp_path / room).mkdir()
    (tmp_path / "build" / "include").mkdir(parents=True)
    (tmp_path / "build" / "include" / "bale").symlink_to(tmp_path)
    script.write_text(f'cmake_minimum_required(VERSION 3.25)\nproject(try LANGUAGES CXX)\n'
                      f'include("{REPO}/scripts/cmake/BaleBuild.cmake")\n')
    subprocess.run(["cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "build"], check=True, capture_output=True, timeout=120)
    include = tmp_path / "build" / "include" / "bale"
    assert include.is_dir() and not include.is_symlink()
    assert sorted(path.name for path in include.iterdir()) == sorted(["formats", "reader", "writer", "loader", "tools",
                                                                      "python", "tests"])
    assert (tmp_path / "formats").is_dir() and not (tmp_path / "formats" / "formats").exists()
