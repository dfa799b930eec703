# SPDX-License-Identifier: Apache-2.0
# How libraries and programs of this project are declared.

# Designated initialisers leave fields out on purpose; gcc 12 warns of overlaps in std::string that are none (bug 105651).
# -O3 is asked for where loops are hot: -O1, and rare collections of gcc's garbage, compile in three quarters of the time.
add_compile_options(-ffunction-sections -Wall -Wextra -Wno-missing-field-initializers $<$<CONFIG:Release>:-O1>
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;--param=ggc-min-expand=300;--param=ggc-min-heapsize=393216>")
add_link_options(LINKER:--gc-sections)
add_compile_definitions(QUERN_VERSION="${PROJECT_VERSION}" QUERN_BUILD_TYPE="$<CONFIG>")
# Three dozen files at a time take a third of the time: names in a target's files differ, anonymous ones, too.
set(CMAKE_UNITY_BUILD ${QUERN_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 36)
set(root "${PROJECT_SOURCE_DIR}")
set(includes "$<BUILD_INTERFACE:${root};${root}/engine/include;${root}/frontends/wasi-nn/include>")

# A static library of every .cpp in a folder and below it, but those that match EXCLUDE. A family's files
# stand side by side, whatever their folders: its attributes are read by few unity objects.
#   quern_library(graph graph EXCLUDE "memory/.*" LINK quern_memory)
function(quern_library name folder)
  cmake_parse_arguments(arg "" "EXCLUDE" "LINK" ${ARGN})
  set(folder "${root}/${folder}")
  file(GLOB_RECURSE sources RELATIVE "${folder}" CONFIGURE_DEPENDS "${folder}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "^(${arg_EXCLUDE})\\.cpp$")
  list(SORT sources COMPARE FILE_BASENAME)
  list(TRANSFORM sources PREPEND "${folder}/")
  add_library(quern_${name} STATIC ${sources})
  target_include_directories(quern_${name} PUBLIC "${includes}")
  target_link_libraries(quern_${name} PUBLIC ${arg_LINK})
  target_compile_options(quern_${name} PRIVATE -fdata-sections)
endfunction()

# A program.
#   quern_program(minimal minimal.cpp LINK quern::quern)
function(quern_program name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
endfunction()

# A shared library, or a module that a host opens, with the engine inside. It has the name of its map,
# shows what that names and nothing else, and is quern::NAME, without a _shared at its end.
#   quern_shared(wamr_backend MODULE wamr/wasi_nn_onnx.map wamr/wasi_nn_onnx.c LINK quern_wasi_nn_c)
function(quern_shared name kind map)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${arg_UNPARSED_ARGUMENTS})
  add_library(quern_${name} ${kind} ${sources})
  target_include_directories(quern_${name} PUBLIC "${includes}")
  target_link_libraries(quern_${name} PRIVATE "$<BUILD_INTERFACE:${arg_LINK}>")
  cmake_path(GET map STEM output)
  set(map "${CMAKE_CURRENT_SOURCE_DIR}/${map}")
  target_link_options(quern_${name} PRIVATE "LINKER:--version-script=${map}")
  string(REGEX REPLACE "_shared$" "" alias "${name}")
  add_library(quern::${alias} ALIAS quern_${name})
  set_target_properties(quern_${name} PROPERTIES
    CXX_VISIBILITY_PRESET hidden OUTPUT_NAME ${output} LINK_DEPENDS "${map}" EXPORT_NAME ${alias}
    ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${name}" VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
endfunction()
