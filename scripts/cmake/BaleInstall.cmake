# libbale and its install rules. find_package(bale CONFIG) gives bale::reader, bale::writer, bale::loader and bale::cuda, and
# pkg-config knows bale. A prefix may have both the static and the shared library (BUILD_SHARED_LIBS), of two builds.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# The third-party libraries of a room and of the rooms below it.
function(bale_third_party out room)
  get_target_property(libraries ${room} LINK_LIBRARIES)
  set(found "")
  foreach(library IN LISTS libraries)
    if(library MATCHES "^bale::(.*)")
      bale_third_party(below "bale_${CMAKE_MATCH_1}")
      list(APPEND found ${below})
    elseif(NOT library MATCHES "^[$]<BUILD_INTERFACE:")
      list(APPEND found ${library})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found)
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

get_property(rooms GLOBAL PROPERTY BALE_ROOMS)
list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
set(components reader writer loader cuda)
set(third_party "")
foreach(component IN LISTS components)
  bale_third_party(libraries bale_${component})
  list(APPEND third_party ${libraries})
endforeach()
list(REMOVE_DUPLICATES third_party)

set(kind static)
if(BUILD_SHARED_LIBS)
  set(kind shared)
endif()
string(TOUPPER ${kind} type)
add_library(bale_library ${type} ${objects})
set_target_properties(bale_library PROPERTIES OUTPUT_NAME bale EXPORT_NAME bale LINKER_LANGUAGE CXX
                      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(bale_library INTERFACE cxx_std_20)
target_include_directories(bale_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
if(BUILD_SHARED_LIBS)
  target_link_libraries(bale_library PRIVATE ${third_party})
  configure_file(scripts/cmake/bale.map.in "${PROJECT_BINARY_DIR}/bale.map" @ONLY)
  target_link_options(bale_library PRIVATE "LINKER:--as-needed,--version-script,${PROJECT_BINARY_DIR}/bale.map")
else()
  target_link_options(bale_library INTERFACE "LINKER:--exclude-libs,libbale.a")  # as the rooms
  # The archive links them, not the components: CMake puts what a component links before the archive if another component
  # follows. A program loads only those that it needs.
  target_link_libraries(bale_library INTERFACE -Wl,--push-state,--as-needed ${third_party} -Wl,--pop-state)
endif()
foreach(component IN LISTS components)
  add_library(bale_part_${component} INTERFACE)
  set_target_properties(bale_part_${component} PROPERTIES EXPORT_NAME ${component})
  target_link_libraries(bale_part_${component} INTERFACE bale_library)
  install(TARGETS bale_part_${component} EXPORT bale-${kind})
endforeach()
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/bale")
install(TARGETS bale_library EXPORT bale-${kind}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(EXPORT bale-${kind} NAMESPACE bale:: DESTINATION "${package_dir}" COMPONENT development)
install(TARGETS bale RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)

# The names that BaleDependencies.cmake gives them.
string(REGEX REPLACE "::" ";" BALE_LINKED "${third_party}")
list(REMOVE_DUPLICATES BALE_LINKED)
file(RELATIVE_PATH libexec_from_package "${CMAKE_INSTALL_FULL_LIBDIR}/cmake/bale" "${CMAKE_INSTALL_FULL_LIBEXECDIR}/bale")
# What find_package(bale) reads. A program has to know the prefix: a file that says it is compiled into whatever links
# bale::loader, and taken by the linker also out of an archive.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/baleConfig.cmake" @ONLY CONTENT [[
set(bale_FOUND FALSE)
set(BALE_LINKED "@BALE_LINKED@")
set(BALE_MISSING "")

# Static or shared: the component of that name, else BUILD_SHARED_LIBS, else what is there.
set(bale_kinds "")
foreach(kind IN ITEMS static shared)
  if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/bale-${kind}.cmake")
    list(APPEND bale_kinds ${kind})
  endif()
endforeach()
if(NOT bale_kinds)
  set(bale_NOT_FOUND_MESSAGE "${CMAKE_CURRENT_LIST_DIR} is where bale is built: run `cmake --install` and name its prefix in CMAKE_PREFIX_PATH, or use add_subdirectory()")
  return()
endif()
set(bale_kind static)
if("shared" IN_LIST bale_FIND_COMPONENTS OR (BUILD_SHARED_LIBS AND NOT "static" IN_LIST bale_FIND_COMPONENTS))
  set(bale_kind shared)
endif()
if(NOT bale_kind IN_LIST bale_kinds AND NOT bale_kind IN_LIST bale_FIND_COMPONENTS)
  set(bale_kind ${bale_kinds})
endif()

foreach(component IN LISTS bale_FIND_COMPONENTS)
  if(component MATCHES "^(reader|writer|loader|cuda)$" OR (component STREQUAL bale_kind AND bale_kind IN_LIST bale_kinds))
    set(bale_${component}_FOUND TRUE)
  elseif(component MATCHES "^(static|shared)$" AND bale_FIND_REQUIRED_${component})
    set(bale_NOT_FOUND_MESSAGE "the ${component} library of bale is not installed in ${CMAKE_CURRENT_LIST_DIR} (BUILD_SHARED_LIBS of its build), or both are asked for")
    return()
  elseif(bale_FIND_REQUIRED_${component})
    set(bale_NOT_FOUND_MESSAGE "bale has no component \"${component}\": there are reader, writer, loader and cuda, and static or shared")
    return()
  endif()
endforeach()

if(bale_kind STREQUAL static)
  include("${CMAKE_CURRENT_LIST_DIR}/BaleDependencies.cmake")
endif()
if(NOT BALE_MISSING)
  set(bale_FOUND TRUE)
  include("${CMAKE_CURRENT_LIST_DIR}/bale-${bale_kind}.cmake")
  get_filename_component(BALE_WORKER_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}/@libexec_from_package@" ABSOLUTE)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/worker_location.cpp.in" "${CMAKE_BINARY_DIR}/bale/worker_location.cpp" @ONLY)
  set_property(TARGET bale::loader APPEND PROPERTY INTERFACE_SOURCES "${CMAKE_BINARY_DIR}/bale/worker_location.cpp")
  set_property(TARGET bale::loader APPEND PROPERTY INTERFACE_LINK_OPTIONS "LINKER:-u,bale_worker_location")
endif()
]])
write_basic_package_version_file("${PROJECT_BINARY_DIR}/baleConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/baleConfig.cmake" "${PROJECT_BINARY_DIR}/baleConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/scripts/cmake/BaleDependencies.cmake"
              "${PROJECT_SOURCE_DIR}/scripts/cmake/worker_location.cpp.in" DESTINATION "${package_dir}" COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION ${CMAKE_INSTALL_DOCDIR})

# For pkg-config. The static library has to be followed by what it links.
set(flags "")
foreach(library IN LISTS third_party)
  if(library MATCHES "^PkgConfig::(.*)")
    list(APPEND flags ${${CMAKE_MATCH_1}_LDFLAGS})
  elseif(library STREQUAL "Threads::Threads")
    list(APPEND flags -pthread)
  else()
    string(REGEX REPLACE ".*::(lib)?" "" library "${library}")
    string(TOLOWER "-l${library}" library)
    string(REPLACE "-lzlib" "-lz" library "${library}")
    list(APPEND flags ${library})
  endif()
endforeach()
list(FILTER flags EXCLUDE REGEX "^-L/usr/lib")
list(REMOVE_DUPLICATES flags)
list(JOIN flags " " flags)
if(NOT BUILD_SHARED_LIBS)
  set(flags_of_static "-Wl,--exclude-libs,libbale.a ${flags}")
  set(flags "")
endif()
file(RELATIVE_PATH prefix_from_pc "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/bale.pc" @ONLY CONTENT [[
prefix=${pcfiledir}/@prefix_from_pc@
Name: bale
Description: @PROJECT_DESCRIPTION@ (C++20)
Version: @PROJECT_VERSION@
Cflags: -I${prefix}/@CMAKE_INSTALL_INCLUDEDIR@
Libs: -L${prefix}/@CMAKE_INSTALL_LIBDIR@ -lbale @flags_of_static@
Libs.private: @flags@
]])
install(FILES "${PROJECT_BINARY_DIR}/bale.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
