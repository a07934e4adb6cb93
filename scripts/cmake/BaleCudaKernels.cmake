# bale_cuda_kernels(OUT SOURCE...): each SOURCE.cu as PTX in a C++ source with `extern const char* const`; OUT is the list
# of those, empty where no compiler can make PTX.
#
# Any Clang with the NVPTX back end will do, or nvcc; no header or library of CUDA's is used. Clang comes first: its PTX
# is of an old version, which old drivers take too.
set(BALE_CUDA_KERNELS "auto" CACHE STRING "What compiles the CUDA kernels: auto, clang, nvcc, off")

find_program(BALE_CUDA_CLANG NAMES clang++ clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14)
find_program(BALE_CUDA_NVCC NAMES nvcc HINTS "$ENV{CUDA_HOME}/bin" /usr/local/cuda/bin)
set(bale_clang_command "${BALE_CUDA_CLANG}" -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-path=/none
    -Wno-unknown-cuda-version -Wno-unused-command-line-argument --cuda-gpu-arch=sm_70 -O3 -std=c++20 -ffp-contract=off)
# sm_75 is the oldest that CUDA 13 knows.
set(bale_nvcc_command "${BALE_CUDA_NVCC}" -arch=compute_75 -O3 -std=c++20 -fmad=false --expt-relaxed-constexpr
    -ccbin "${CMAKE_CXX_COMPILER}")

# Whether `compiler` turns a kernel into PTX.
function(bale_cuda_try name)
  set(probe "${CMAKE_BINARY_DIR}/cuda_probe_${name}")
  file(WRITE "${probe}.cu" "extern \"C\" __attribute__((global)) void probe(int* out) { *out = 1; }\n")
  execute_process(COMMAND ${ARGN} "${probe}.cu" -o "${probe}.ptx" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  set(works_${name} FALSE PARENT_SCOPE)
  if(NOT failed)
    set(works_${name} TRUE PARENT_SCOPE)
  endif()
endfunction()

function(bale_cuda_kernels out)
  set(command "")
  if(BALE_CUDA_KERNELS MATCHES "^(auto|clang)$" AND BALE_CUDA_CLANG)
    bale_cuda_try(clang ${bale_clang_command} -S)
    if(works_clang)
      set(command ${bale_clang_command} -S)
    endif()
  endif()
  if(NOT command AND BALE_CUDA_KERNELS MATCHES "^(auto|nvcc)$" AND BALE_CUDA_NVCC)
    bale_cuda_try(nvcc ${bale_nvcc_command} -ptx)
    if(works_nvcc)
      set(command ${bale_nvcc_command} -ptx)
    endif()
  endif()
  set(${out} "" PARENT_SCOPE)
  if(NOT command)
    if(BALE_CUDA_KERNELS MATCHES "^(clang|nvcc)$")
      message(FATAL_ERROR "BALE_CUDA_KERNELS=${BALE_CUDA_KERNELS}: it is not there or makes no PTX")
    endif()
    message(STATUS "CUDA kernels: none (neither Clang with NVPTX nor nvcc)")
    return()
  endif()
  list(GET command 0 compiler)
  message(STATUS "CUDA kernels: compiled by ${compiler}")
  set(sources "")
  foreach(source IN LISTS ARGN)
    get_filename_component(folder "${CMAKE_CURRENT_SOURCE_DIR}/${source}" DIRECTORY)
    file(GLOB headers CONFIGURE_DEPENDS "${folder}/*.hpp")
    get_filename_component(name "${source}" NAME_WE)
    set(ptx "${CMAKE_CURRENT_BINARY_DIR}/${name}.ptx")
    set(embedded "${CMAKE_CURRENT_BINARY_DIR}/${name}_ptx.cpp")
    add_custom_command(
      OUTPUT "${embedded}" "${ptx}"
      COMMAND ${command} -I "${CMAKE_BINARY_DIR}/include" "${CMAKE_CURRENT_SOURCE_DIR}/${source}" -o "${ptx}"
      COMMAND "${CMAKE_COMMAND}" -DPTX=${ptx} -DOUT=${embedded} -DNAME=${name}
              -P "${PROJECT_SOURCE_DIR}/scripts/cmake/BaleEmbedText.cmake"
      DEPENDS "${source}" ${headers} "${PROJECT_SOURCE_DIR}/loader/transform/half.hpp"
              "${PROJECT_SOURCE_DIR}/scripts/cmake/BaleEmbedText.cmake"
      COMMENT "Compiling ${source} to PTX" VERBATIM)
    list(APPEND sources "${embedded}")
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()
