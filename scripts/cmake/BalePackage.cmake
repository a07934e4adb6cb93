# A Debian package of the program, by `cpack -G DEB` (scripts/release/deb.sh). It has what the install component `program` has. The
# libraries and headers are installed by `cmake --install` only: they are static, and their users build against them.
set(BALE_PACKAGE_CONTACT "bale's maintainers <bale@localhost>" CACHE STRING "Maintainer of the Debian package")

file(WRITE "${CMAKE_BINARY_DIR}/copyright"
  "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: bale\n\n"
  "Files: *\nCopyright: the authors of bale\nLicense: Apache-2.0\n"
  " On Debian systems, the text of the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.\n")
install(FILES "${CMAKE_BINARY_DIR}/copyright" DESTINATION share/doc/bale COMPONENT program EXCLUDE_FROM_ALL)

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
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME bale)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What is opened at first use is not seen by dpkg-shlibdeps.
get_property(packages GLOBAL PROPERTY BALE_LAZY_PACKAGES)
list(REMOVE_DUPLICATES packages)
list(JOIN packages ", " CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"bale packs folders of small images into tar, LMDB, HDF5, TFRecord or RecordIO files
 and reads them fast: `bale --help`. Its Python package is installed by pip.")
include(CPack)
