# Install rules and the exported package: find_package(bale CONFIG) gives bale::reader and bale::writer.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(rooms GLOBAL PROPERTY BALE_ROOMS)
install(TARGETS ${rooms} EXPORT bale-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS bale RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/bale")
install(EXPORT bale-targets NAMESPACE bale:: DESTINATION "${package_dir}")

file(RELATIVE_PATH libexec_from_package "${CMAKE_INSTALL_FULL_LIBDIR}/cmake/bale" "${CMAKE_INSTALL_FULL_LIBEXECDIR}/bale")
file(WRITE "${CMAKE_BINARY_DIR}/baleConfig.cmake"
  "set(BALE_BUILT_WITH \"${BALE_BUILT_WITH}\")\n"
  "include(\"\${CMAKE_CURRENT_LIST_DIR}/BaleDependencies.cmake\")\n"
  "if(NOT BALE_MISSING)\n"
  "  include(\"\${CMAKE_CURRENT_LIST_DIR}/bale-targets.cmake\")\n"
  # The libraries are static, so the program that they are linked into has to know the prefix.
  "  get_filename_component(BALE_WORKER_DIRECTORY \"\${CMAKE_CURRENT_LIST_DIR}/${libexec_from_package}\" ABSOLUTE)\n"
  "  configure_file(\"\${CMAKE_CURRENT_LIST_DIR}/worker_location.cpp.in\" \"\${CMAKE_BINARY_DIR}/bale/worker_location.cpp\" @ONLY)\n"
  "  set_property(TARGET bale::loader APPEND PROPERTY INTERFACE_SOURCES \"\${CMAKE_BINARY_DIR}/bale/worker_location.cpp\")\n"
  "endif()\n")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/baleConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/baleConfig.cmake" "${CMAKE_BINARY_DIR}/baleConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/scripts/cmake/BaleDependencies.cmake"
              "${PROJECT_SOURCE_DIR}/scripts/cmake/worker_location.cpp.in" DESTINATION "${package_dir}")
