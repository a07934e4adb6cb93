# Install rules and the exported package: find_package(bale CONFIG) gives bale::reader and bale::writer.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

get_property(rooms GLOBAL PROPERTY BALE_ROOMS)
install(TARGETS ${rooms} EXPORT bale-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS bale RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/bale")
install(EXPORT bale-targets NAMESPACE bale:: DESTINATION "${package_dir}")

file(RELATIVE_PATH libexec_from_package "${CMAKE_INSTALL_FULL_LIBDIR}/cmake/bale" "${CMAKE_INSTALL_FULL_LIBEXECDIR}/bale")
# What find_package(bale) reads. The libraries are static, so the program that they are linked into has to know the prefix:
# a file that says it is compiled into whatever links bale::loader, and taken by the linker also out of an archive.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/baleConfig.cmake" @ONLY CONTENT [[
set(BALE_BUILT_WITH "@BALE_BUILT_WITH@")
if(NOT EXISTS "${CMAKE_CURRENT_LIST_DIR}/bale-targets.cmake")
  set(bale_FOUND FALSE)
  set(bale_NOT_FOUND_MESSAGE "${CMAKE_CURRENT_LIST_DIR} is where bale is built: run `cmake --install` and name its prefix in CMAKE_PREFIX_PATH, or use add_subdirectory()")
  return()
endif()
include("${CMAKE_CURRENT_LIST_DIR}/BaleDependencies.cmake")
if(NOT BALE_MISSING)
  include("${CMAKE_CURRENT_LIST_DIR}/bale-targets.cmake")
  get_filename_component(BALE_WORKER_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}/@libexec_from_package@" ABSOLUTE)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/worker_location.cpp.in" "${CMAKE_BINARY_DIR}/bale/worker_location.cpp" @ONLY)
  set_property(TARGET bale::loader APPEND PROPERTY INTERFACE_SOURCES "${CMAKE_BINARY_DIR}/bale/worker_location.cpp")
  set_property(TARGET bale::loader APPEND PROPERTY INTERFACE_LINK_OPTIONS "LINKER:-u,bale_worker_location")
  foreach(component IN LISTS bale_FIND_COMPONENTS)
    if(TARGET bale::${component})
      set(bale_${component}_FOUND TRUE)
    elseif(bale_FIND_REQUIRED_${component})
      set(bale_FOUND FALSE)
      set(bale_NOT_FOUND_MESSAGE "bale has no component \"${component}\": there are reader, writer, loader, cuda and the parts of them")
    endif()
  endforeach()
endif()
]])
write_basic_package_version_file("${PROJECT_BINARY_DIR}/baleConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/baleConfig.cmake" "${PROJECT_BINARY_DIR}/baleConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/scripts/cmake/BaleDependencies.cmake"
              "${PROJECT_SOURCE_DIR}/scripts/cmake/worker_location.cpp.in" DESTINATION "${package_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION ${CMAKE_INSTALL_DOCDIR})
