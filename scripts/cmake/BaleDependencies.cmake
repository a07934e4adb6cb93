# Third-party libraries as imported targets. Included by the build and by the installed baleConfig.cmake,
# so that both find them in the same way.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)

pkg_check_modules(BALE_LMDB REQUIRED IMPORTED_TARGET GLOBAL lmdb)
pkg_check_modules(BALE_HDF5 REQUIRED IMPORTED_TARGET GLOBAL hdf5)
pkg_check_modules(BALE_ARCHIVE REQUIRED IMPORTED_TARGET GLOBAL libarchive)
pkg_check_modules(BALE_ZSTD REQUIRED IMPORTED_TARGET GLOBAL libzstd)
pkg_check_modules(BALE_JPEG REQUIRED IMPORTED_TARGET GLOBAL libjpeg)
pkg_check_modules(BALE_XXHASH REQUIRED IMPORTED_TARGET GLOBAL libxxhash)
pkg_check_modules(BALE_ISAL REQUIRED IMPORTED_TARGET GLOBAL libisal)
pkg_check_modules(BALE_HWY REQUIRED IMPORTED_TARGET GLOBAL libhwy)
