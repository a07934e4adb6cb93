# Debian packages by `cpack -G DEB`: of the program, and for scripts/release/deb.sh, which asks for them, of the shared library and of
# what C++ programs are built with. Each has what the install component of its name has.
set(BALE_PACKAGE_CONTACT "bale's maintainers <bale@localhost>" CACHE STRING "Maintainer of the Debian package")

file(WRITE "${CMAKE_BINARY_DIR}/copyright"
  "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: bale\n\n"
  "Files: *\nCopyright: the authors of bale\nLicense: Apache-2.0\n"
  " On Debian systems, the text of the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.\n")
set(package_program bale)
set(package_library libbale${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(package_development libbale-dev)
foreach(component program library development)
  install(FILES "${CMAKE_BINARY_DIR}/copyright" DESTINATION share/doc/${package_${component}} COMPONENT ${component} EXCLUDE_FROM_ALL)
  string(TOUPPER ${component} name)
  set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${package_${component}})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME bale)
set(CPACK_PACKAGE_CONTACT "${BALE_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_VENDOR "bale")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "packs folders of small images and reads them back fast")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What is opened at first use is not seen by dpkg-shlibdeps.
get_property(packages GLOBAL PROPERTY BALE_LAZY_PACKAGES)
list(REMOVE_DUPLICATES packages)
list(JOIN packages ", " CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "${CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS bale)  # has bale-worker
set(packages "${package_library} (= ${PROJECT_VERSION})")
foreach(name IN LISTS BALE_LINKED)
  list(APPEND packages ${bale_package_of_${name}})
endforeach()
list(REMOVE_DUPLICATES packages)
list(JOIN packages ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"bale packs folders of small images into tar, LMDB, HDF5, TFRecord or RecordIO files
 and reads them fast: `bale --help`. Its Python package is installed by pip.")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "The shared library of bale, for C++ programs that read and write its datasets.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"Headers, the static library, and files for CMake and pkg-config, to build
 C++ programs that read and write datasets with bale.")
include(CPack)
