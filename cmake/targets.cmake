# SPDX-License-Identifier: Apache-2.0
# How libraries and programs of this project are declared.

# One static library per folder, from every .cpp in it (and in the sub-folders that it names).
# HOT: with all optimisations of a release. The others are built with -O2, which with unused functions
# left out makes libquern.so 7 % smaller.
#   quern_library(graph SUBDIRECTORIES passes memory LINK quern_vocabulary)
function(quern_library name)
  cmake_parse_arguments(arg "HOT;ROOMS_APART" "" "SUBDIRECTORIES;LINK;EXCLUDE" ${ARGN})
  list(TRANSFORM arg_SUBDIRECTORIES APPEND "/*.cpp")
  file(GLOB sources CONFIGURE_DEPENDS "*.cpp" ${arg_SUBDIRECTORIES})
  foreach(pattern IN LISTS arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  # A family's files side by side, whatever their folders: its attributes are read by few unity objects.
  if(NOT arg_ROOMS_APART)
    list(SORT sources COMPARE FILE_BASENAME)
  endif()
  add_library(quern_${name} STATIC ${sources})
  quern_include(quern_${name} engine/include)
  target_include_directories(quern_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(quern_${name} PUBLIC ${arg_LINK})
  if(NOT arg_HOT)
    target_compile_options(quern_${name} PRIVATE $<$<CONFIG:Release>:-O2>)
  endif()
  quern_warnings(quern_${name})
  quern_unity(quern_${name})
  if(arg_ROOMS_APART)
    set_target_properties(quern_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# A program.
#   quern_program(quern_cli main.cpp AS quern LINK quern_tools)
function(quern_program name)
  cmake_parse_arguments(arg "" "AS" "LINK;DEFINE" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  if(arg_AS)
    set_target_properties(${name} PROPERTIES OUTPUT_NAME ${arg_AS})
  endif()
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  target_compile_definitions(${name} PRIVATE ${arg_DEFINE})
  target_link_options(${name} PRIVATE LINKER:--gc-sections)
  quern_warnings(${name})
endfunction()

# A shared library, or a module that a host opens, with the engine inside. It shows what the map names
# and nothing else. EXPORT: the name after quern:: of what others link.
#   quern_shared(quern_node MODULE addon.c AS quern_wasi_nn MAP addon.map LINK quern_wasi_nn_c)
function(quern_shared name kind)
  cmake_parse_arguments(arg "" "AS;MAP;EXPORT" "LINK;INCLUDE" ${ARGN})
  add_library(${name} ${kind} ${arg_UNPARSED_ARGUMENTS})
  quern_include(${name} ${arg_INCLUDE})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE "$<BUILD_INTERFACE:${arg_LINK}>")
  set(map "${CMAKE_CURRENT_SOURCE_DIR}/${arg_MAP}")
  target_link_options(${name} PRIVATE "LINKER:--version-script=${map}" LINKER:--gc-sections)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${arg_AS} LINK_DEPENDS "${map}"
                                           CXX_VISIBILITY_PRESET hidden)
  quern_warnings(${name})
  if(arg_EXPORT)
    set_target_properties(${name} PROPERTIES EXPORT_NAME ${arg_EXPORT} VERSION ${PROJECT_VERSION}
                                             SOVERSION ${PROJECT_VERSION_MAJOR})
    add_library(quern::${arg_EXPORT} ALIAS ${name})
  endif()
endfunction()

# Folders of public headers, relative to the project.
function(quern_include target)
  foreach(folder IN LISTS ARGN)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${folder}>
                                                $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
endfunction()

# Sixteen files at a time: a third of the processor time of a build from nothing. Names in the files of
# a target differ, also those in anonymous namespaces.
function(quern_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${QUERN_UNITY} UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# Designated initialisers leave fields out on purpose; gcc 12 warns of overlaps in std::string that
# are none (its bug 105651).
function(quern_warnings target)
  target_compile_options(${target} PRIVATE -ffunction-sections -Wall -Wextra -Wno-missing-field-initializers
                                           $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
endfunction()
