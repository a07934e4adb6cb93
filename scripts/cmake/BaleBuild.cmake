# Compiler flags for every room, and bale_add_room(): one static library a room.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

find_program(BALE_CCACHE ccache)
if(BALE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${BALE_CCACHE}")
endif()

# Warnings apply to our code only, so they are an interface of their own and never exported.
add_library(bale_warnings INTERFACE)
target_compile_options(bale_warnings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
                       -Wcast-align -Wold-style-cast -Wimplicit-fallthrough)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns about reads in inlined std::string code that cannot happen (GCC bug 105651).
  target_compile_options(bale_warnings INTERFACE -Wno-restrict -Wno-missing-field-initializers)
else()
  target_compile_options(bale_warnings INTERFACE -Wno-missing-field-initializers -Wno-missing-designated-field-initializers
                         -Wno-unknown-warning-option)
endif()
if(BALE_WERROR)
  target_compile_options(bale_warnings INTERFACE -Werror)
endif()

add_library(bale_no_byte_casts INTERFACE)
if(BALE_SANITIZE)
  add_compile_options(-fsanitize=${BALE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${BALE_SANITIZE})
  if(BALE_SANITIZE MATCHES "address.*undefined")
    # AddressSanitizer finds these as well, and they take a quarter of the time to compile.
    add_compile_options(-fno-sanitize=null,vptr,object-size)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # As above; the fuzz targets, which Clang compiles, have them. Alignment, a fifth of the time: see bale_add_room().
      # Functions with many accesses call the checks: half the time to compile the SIMD kernels.
      add_compile_options(-fno-sanitize=pointer-overflow,alignment --param=asan-instrumentation-with-call-threshold=40)
      # -O1, since these rooms are those that compute: all others compile in a quarter less time with -Og.
      set(BALE_BYTE_CASTS_CHECKED -fsanitize=alignment -O1)
      target_compile_options(bale_no_byte_casts INTERFACE -Wcast-align=strict)
      # Between the checks GCC takes std::nullopt for a value that is not set. The Release build has this warning.
      target_compile_options(bale_warnings INTERFACE -Wno-maybe-uninitialized)
    endif()
  endif()
endif()

if(BALE_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Headers are named as an installed program names them, "bale/reader/dataset.hpp". Those that are installed lie in
# ROOM/include/bale/ROOM. For all others one link per room makes the source tree look like that. A link to the whole tree would lead back to the build directory in it, and whoever follows links
# (recursive globs, file watchers) would never come to an end.
set(bale_include "${PROJECT_BINARY_DIR}/include/bale")
if(IS_SYMLINK "${bale_include}")  # of an earlier version
  file(REMOVE "${bale_include}")
endif()
file(MAKE_DIRECTORY "${bale_include}")
foreach(room formats reader writer loader tools python tests)
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}/${room}" "${bale_include}/${room}" SYMBOLIC)
endforeach()

include(GNUInstallDirs)
set(bale_include_directories "${PROJECT_BINARY_DIR}/include")
foreach(room formats reader writer loader)
  list(APPEND bale_include_directories "${CMAKE_CURRENT_SOURCE_DIR}/${room}/include")
  if(BALE_INSTALL)
    install(DIRECTORY "${room}/include/" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  endif()
endforeach()

set_property(GLOBAL PROPERTY BALE_ROOMS "")

# bale_unity(TARGET): with BALE_UNITY, the sources of each folder are compiled as one unit, of at most 16 files so that several
# cores have work. So names of anonymous namespaces are unique in a folder. A source that cannot join others has the
# property SKIP_UNITY_BUILD_INCLUSION; generated ones and those with options of their own stay alone.
function(bale_unity target)
  if(NOT BALE_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(folders "")
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" DIRECTORY)
    if(IS_ABSOLUTE "${source}" OR NOT source MATCHES "\\.cpp$")
      continue()
    endif()
    string(MAKE_C_IDENTIFIER "in_${folder}" name)
    list(APPEND folders ${name})
    list(APPEND ${name} "${source}")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(name IN LISTS folders)
    list(LENGTH ${name} count)
    math(EXPR units "(${count} + 15) / 16")
    math(EXPR size "(${count} + ${units} - 1) / ${units}")  # units of one size
    set(at 0)
    foreach(source IN LISTS ${name})
      math(EXPR unit "${at} / ${size}")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${name}_${unit}")
      math(EXPR at "${at} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# bale_precompile(TARGET [HEADER...]): what nearly every source includes, and these, is compiled once: a fifth of the time.
# bale_reuse(TARGET OF): those of OF, which has the same options. ccache cannot keep units with precompiled headers unless
# it is told to be sloppy. If a library adds an option that the headers lack, as -pthread, GCC compiles the unit without
# them, but Clang refuses it.
set(BALE_PRECOMPILED OFF)
if(BALE_UNITY AND NOT BALE_CCACHE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(BALE_PRECOMPILED ON)
endif()
function(bale_precompile_from target)
  if(BALE_PRECOMPILED)
    target_precompile_headers(${target} ${ARGN})
    set_target_properties(${target} PROPERTIES PCH_WARN_INVALID OFF)
    # GCC 12 forgets in precompiled headers that std::string is the system's, and warns about it (GCC bug 105329).
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endfunction()
function(bale_precompile target)
  bale_precompile_from(${target} PRIVATE ${ARGN} <algorithm> <array> <atomic> <filesystem> <functional> <map> <memory>
                       <mutex> <optional> <set> <span> <string> <unordered_map> <vector> <fmt/format.h>)
endfunction()
function(bale_reuse target of)
  bale_precompile_from(${target} REUSE_FROM ${of})
endfunction()

# What the sources of a room are compiled with. In a Release build only the rooms whose loops the compiler is to vectorize
# have CMake's -O3: it takes the others a tenth more time to compile, and they run no faster.
function(bale_options_of_room target vectorized casts_bytes)
  target_compile_features(${target} PUBLIC cxx_std_20)
  # Pixels, draws and weights must come out the same on every CPU: no fused multiply-add of the compiler's choosing.
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  if(NOT vectorized)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O2>)
  endif()
  if(casts_bytes)
    target_compile_options(${target} PRIVATE ${BALE_BYTE_CASTS_CHECKED})
  endif()
  if(NOT BUILD_SHARED_LIBS)  # what links a static library does not export it, so two versions in one process do not mix
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
endfunction()

# Those of all rooms, by what makes a difference in this build.
if(BALE_PRECOMPILED)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/empty.cpp" CONTENT "")
  foreach(which IN ITEMS vectorized casts_bytes plain)
    string(COMPARE EQUAL ${which} vectorized vectorized)
    string(COMPARE EQUAL ${which} casts_bytes casts_bytes)
    add_library(bale_headers_${which} OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/generated/empty.cpp")
    target_link_libraries(bale_headers_${which} PRIVATE fmt::fmt)
    bale_options_of_room(bale_headers_${which} ${vectorized} ${casts_bytes})
    bale_precompile(bale_headers_${which})
  endforeach()
endif()

# bale_add_room(NAME [VECTORIZED] [CASTS_BYTES] SOURCES file... [PUBLIC target...] [PRIVATE target...])
# Library bale_NAME with the alias bale::NAME. VECTORIZED: the room has loops over pixels or values that the compiler is to
# vectorize. CASTS_BYTES: the room casts pointers to bytes to those of wider values. A sanitizer build then checks their
# alignment while it runs, and warns of such casts in all other rooms.
function(bale_add_room name)
  cmake_parse_arguments(ROOM "VECTORIZED;CASTS_BYTES" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(bale_${name} STATIC ${ROOM_SOURCES})
  add_library(bale::${name} ALIAS bale_${name})
  target_include_directories(bale_${name} PUBLIC "$<BUILD_INTERFACE:${bale_include_directories}>")
  target_link_libraries(bale_${name} PUBLIC ${ROOM_PUBLIC} PRIVATE ${ROOM_PRIVATE} $<BUILD_INTERFACE:bale_warnings>)
  bale_options_of_room(bale_${name} ${ROOM_VECTORIZED} ${ROOM_CASTS_BYTES})
  set(which plain)
  if(ROOM_CASTS_BYTES AND BALE_BYTE_CASTS_CHECKED)
    set(which casts_bytes)
  elseif(ROOM_VECTORIZED AND CMAKE_BUILD_TYPE STREQUAL "Release")
    set(which vectorized)
  endif()
  bale_reuse(bale_${name} bale_headers_${which})
  if(NOT ROOM_CASTS_BYTES)
    target_link_libraries(bale_${name} PRIVATE $<BUILD_INTERFACE:bale_no_byte_casts>)
  endif()
  if(NOT BUILD_SHARED_LIBS)
    # The standard library's templates of bale's types are not hidden by that.
    target_link_options(bale_${name} INTERFACE "LINKER:--exclude-libs,libbale_${name}.a")
  endif()
  bale_unity(bale_${name})
  set_property(GLOBAL APPEND PROPERTY BALE_ROOMS bale_${name})
endfunction()
