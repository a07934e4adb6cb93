# Libraries that are opened at the first call of one of their functions (formats/base/system/lazy_library.hpp), because most runs call
# none and each takes milliseconds to load. Static ones are linked.
set_property(GLOBAL PROPERTY BALE_LAZY_PACKAGES "")  # the Debian packages that have them
find_program(BALE_DPKG_QUERY dpkg-query)

# The shared library lib<NAME> of an imported target, or nothing.
function(bale_shared_library out imported name)
  set(files "")
  foreach(property IMPORTED_LOCATION IMPORTED_LOCATION_RELEASE IMPORTED_LOCATION_NOCONFIG INTERFACE_LINK_LIBRARIES)
    get_target_property(value ${imported} ${property})
    list(APPEND files ${value})
  endforeach()
  list(FILTER files INCLUDE REGEX "/lib${name}([^a-z/][^/]*)?[.]so[^/]*$")
  list(APPEND files "")
  list(GET files 0 file)
  set(${out} "${file}" PARENT_SCOPE)
endfunction()

# bale_load_lazily(TARGET IMPORTED NAME): TARGET calls functions of lib<NAME>, which the target IMPORTED has. Makes the header
# bale_lazy_<NAME>.hpp. It defines BALE_LAZY_<NAME> as the name by which the library is opened, which is what a linker would
# record, and its Debian package. It defines nothing if the library is linked.
function(bale_load_lazily target imported name)
  bale_shared_library(file ${imported} ${name})
  set(text "")
  if(file AND CMAKE_READELF)
    execute_process(COMMAND "${CMAKE_READELF}" -d "${file}" OUTPUT_VARIABLE text ERROR_QUIET)
  endif()
  if(text MATCHES "SONAME[^\n]*\\[([^]\n]+)\\]")
    set(soname "${CMAKE_MATCH_1}")
    get_filename_component(file "${file}" REALPATH)
    get_filename_component(folder "${file}" DIRECTORY)
    set(package "")
    if(BALE_DPKG_QUERY)
      execute_process(COMMAND "${BALE_DPKG_QUERY}" -S "${folder}/${soname}" OUTPUT_VARIABLE text ERROR_QUIET)
      if(text MATCHES "^([^:,\n]+)")
        set(package "${CMAKE_MATCH_1}")
        set_property(GLOBAL APPEND PROPERTY BALE_LAZY_PACKAGES "${package}")
      endif()
    endif()
    string(TOUPPER "${name}" macro)
    set(content "#define BALE_LAZY_${macro} \"${soname}\", \"${package}\"")
    # All but the library itself.
    target_include_directories(${target} SYSTEM PRIVATE $<TARGET_PROPERTY:${imported},INTERFACE_INCLUDE_DIRECTORIES>)
    target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:${imported},INTERFACE_COMPILE_DEFINITIONS>)
    target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:${imported},INTERFACE_COMPILE_OPTIONS>)
  else()
    set(content "// It is linked.")
    target_link_libraries(${target} PRIVATE ${imported})
  endif()
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/bale_lazy_${name}.hpp" CONTENT "// Made by CMake.\n${content}\n" @ONLY)
endfunction()
