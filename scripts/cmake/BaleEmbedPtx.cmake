# bale_embed_ptx(OUT FILE...): each FILE.ptx as a C++ source with `extern const char* const k_FILE_ptx`; OUT is the list of
# those. scripts/gpu/make_ptx.sh makes the files, so no build needs a compiler for devices.
function(bale_embed_ptx out)
  set(sources "")
  foreach(ptx IN LISTS ARGN)
    get_filename_component(name "${ptx}" NAME_WE)
    set(embedded "${CMAKE_CURRENT_BINARY_DIR}/${name}_ptx.cpp")
    add_custom_command(
      OUTPUT "${embedded}"
      COMMAND "${CMAKE_COMMAND}" -DPTX=${CMAKE_CURRENT_SOURCE_DIR}/${ptx} -DOUT=${embedded} -DNAME=${name}
              -P "${PROJECT_SOURCE_DIR}/scripts/cmake/BaleEmbedText.cmake"
      DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${ptx}" "${PROJECT_SOURCE_DIR}/scripts/cmake/BaleEmbedText.cmake" VERBATIM)
    list(APPEND sources "${embedded}")
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()
