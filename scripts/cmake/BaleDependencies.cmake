# Third-party libraries as imported targets. Included by the build and by the installed baleConfig.cmake, so that both
# find them in the same way. All that is missing is told in one line, by the names of the Debian packages that have it
# (a test compares them with scripts/packages.sh); BALE_MISSING is empty where nothing is.
set(BALE_MISSING "")

# bale_find(DEBIAN-PACKAGE NAME [argument of find_package...])
macro(bale_find package name)
  if(CMAKE_CXX_COMPILER_LOADED)  # without a compiler CMake does not know where libraries are
    find_package(${name} ${ARGN} QUIET)
  endif()
  if(NOT ${name}_FOUND)
    list(APPEND BALE_MISSING ${package})
  endif()
endmacro()

# bale_find_module(DEBIAN-PACKAGE PREFIX MODULE): PkgConfig::PREFIX, by pkg-config.
macro(bale_find_module package prefix module)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${module})
  endif()
  if(NOT ${prefix}_FOUND)
    list(APPEND BALE_MISSING ${package})
  endif()
endmacro()

if(CMAKE_CXX_COMPILER_LOADED)
  find_package(Threads REQUIRED)
else()
  list(APPEND BALE_MISSING g++)
endif()
bale_find(pkg-config PkgConfig)
bale_find(libfmt-dev fmt)
bale_find(zlib1g-dev ZLIB)
bale_find(libpng-dev PNG)
bale_find(libcurl4-openssl-dev CURL)
bale_find(libssl-dev OpenSSL)
bale_find_module(libpugixml-dev BALE_PUGIXML pugixml)
bale_find_module(liblmdb-dev BALE_LMDB lmdb)
bale_find_module(libhdf5-dev BALE_HDF5 hdf5)
bale_find_module(libarchive-dev BALE_ARCHIVE libarchive)
bale_find_module(libprotobuf-dev BALE_PROTOBUF protobuf-lite)
bale_find_module(libzstd-dev BALE_ZSTD libzstd)
bale_find_module(libjpeg-dev BALE_JPEG libjpeg)
bale_find_module(libxxhash-dev BALE_XXHASH libxxhash)
bale_find_module(libisal-dev BALE_ISAL libisal)
bale_find_module(libhwy-dev BALE_HWY libhwy)

if(NOT CMAKE_FIND_PACKAGE_NAME)  # bale itself is built: what its program, tests and Python package need besides
  bale_find(libcli11-dev CLI11)
  bale_find(nlohmann-json3-dev nlohmann_json)
  if(BALE_TESTS)
    bale_find(catch2 Catch2)
  endif()
  if(BALE_PYTHON)
    # Without SABIModule nanobind drops the stable ABI and says nothing. CMake knows it since 3.26.
    bale_find(python3-dev Python 3.10 COMPONENTS Interpreter Development.Module
              OPTIONAL_COMPONENTS Development.SABIModule)
  endif()
endif()

if(BALE_MISSING)
  list(JOIN BALE_MISSING " " missing)
  set(missing "bale needs: apt-get install ${missing}")
  if(CMAKE_FIND_PACKAGE_NAME)
    set(${CMAKE_FIND_PACKAGE_NAME}_FOUND FALSE)
    set(${CMAKE_FIND_PACKAGE_NAME}_NOT_FOUND_MESSAGE "${missing}")
  else()
    message(FATAL_ERROR " ${missing}")  # the space keeps CMake from breaking the line
  endif()
endif()
