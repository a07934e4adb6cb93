"""Mutations of what the build promises about its products."""
from mutations.mutation import Mutation

MUTATIONS = [
    Mutation("a wheel of the stable ABI holds a module of one Python", "python/CMakeLists.txt",
             'if(SKBUILD_SABI_VERSION AND NOT module_suffix MATCHES "abi3")', "if(FALSE)",
             ("python", "tests/python/repo/test_python_wheel.py")),
    Mutation("HDF5 is loaded when the program starts", "formats/hdf5/CMakeLists.txt",
             "bale_load_lazily(bale_format_hdf5 PkgConfig::BALE_HDF5 hdf5)",
             "bale_load_lazily(bale_format_hdf5 PkgConfig::BALE_HDF5 hdf5)\n"
             "target_link_libraries(bale_format_hdf5 PRIVATE -Wl,--no-as-needed PkgConfig::BALE_HDF5)",
             ("python", "tests/python/cli/test_start.py", "-k", "few")),
    Mutation("a library that cannot be opened is not named", "formats/base/system/lazy_library.cpp",
             "why != nullptr ? why : name", "\"?\"", ("parallel", "a library that is missing*")),
    Mutation("a variable of a library is looked up in the library first", "formats/base/system/lazy_library.cpp",
             "::dlsym(RTLD_DEFAULT, name)", "::dlsym(handle, name)", ("hdf5", "truncated files*")),
]
