# The programs inside of the module: a wheel has their code once (BALE_ONE_LIBRARY, scripts/release/wheels.sh). What is left of
# bin/bale and bin/bale-worker loads the module and calls the function that it exports for it.
enable_language(C)
target_sources(_bale PRIVATE programs/entries.cpp)
target_link_libraries(_bale PRIVATE bale_cli)
get_target_property(libraries _bale LINK_LIBRARIES)
list(FILTER libraries INCLUDE REGEX "^nanobind-static")
foreach(target _bale ${libraries})
  target_compile_options(${target} PRIVATE "SHELL:-include \"${CMAKE_CURRENT_LIST_DIR}/weak_python.h\"")
endforeach()

# A launcher looks for the module beside its own folder, which it finds by its real path.
set(launchers "${package}/bin")
if(IS_SYMLINK "${launchers}")  # of a build of the other kind
  file(REMOVE "${launchers}")
endif()
foreach(program bale bale-worker)
  string(REPLACE "bale-" "bale_" entry "${program}_main")
  string(REPLACE "bale_main" "bale_program_main" entry "${entry}")
  add_executable(${program}_launcher programs/launcher.c)
  target_compile_definitions(${program}_launcher PRIVATE "BALE_MODULE=\"$<TARGET_FILE_NAME:_bale>\"" "BALE_ENTRY=\"${entry}\"")
  target_link_libraries(${program}_launcher PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(${program}_launcher PROPERTIES OUTPUT_NAME ${program} RUNTIME_OUTPUT_DIRECTORY "${launchers}")
endforeach()
