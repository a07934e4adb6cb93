"""Mutations of what the build promises about its products."""
from mutations.mutation import Mutation

MUTATIONS = [
    Mutation("a wheel of the stable ABI holds a module of one Python", "python/CMakeLists.txt",
             'if(SKBUILD_SABI_VERSION AND NOT module_suffix MATCHES "abi3")', "if(FALSE)",
             ("python", "tests/python/test_python_wheel.py")),
]
