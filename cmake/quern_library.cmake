# SPDX-License-Identifier: Apache-2.0
# One static library per folder, from every .cpp in it (and in the sub-folders that it names).
#   quern_library(graph SUBDIRECTORIES passes memory LINK quern_vocabulary)
function(quern_library name)
  cmake_parse_arguments(arg "" "" "SUBDIRECTORIES;LINK;EXCLUDE" ${ARGN})
  set(globs "*.cpp")
  foreach(directory IN LISTS arg_SUBDIRECTORIES)
    list(APPEND globs "${directory}/*.cpp")
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${globs})
  foreach(pattern IN LISTS arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  add_library(quern_${name} STATIC ${sources})
  target_include_directories(quern_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/engine/include>
           $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(quern_${name} PUBLIC ${arg_LINK})
  quern_warnings(quern_${name})
  quern_unity(quern_${name})
endfunction()

# Eight files at a time: a third of the processor time of a build from nothing. Names in the files of
# a target differ, also those in anonymous namespaces.
function(quern_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${QUERN_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# Designated initialisers leave fields out on purpose; gcc 12 warns of overlaps in std::string that
# are none (its bug 105651).
function(quern_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-missing-field-initializers
                                           $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
endfunction()

# A shared library or module shows what the map names and nothing else.
function(quern_hide target map)
  target_link_options(${target} PRIVATE "LINKER:--version-script=${map}" LINKER:--gc-sections)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS "${map}" CXX_VISIBILITY_PRESET hidden)
endfunction()
