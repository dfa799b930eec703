# SPDX-License-Identifier: Apache-2.0
# oneDNN by header and library. Debian 12's own CMake configuration wants OpenCL development files and
# fails on a clean machine.
#
# The target gives include paths only: the library is opened at run time (kernels/onednn/onednn.h), under
# the name in oneDNN_SONAME.
find_path(oneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(oneDNN_LIBRARY NAMES dnnl)
if(oneDNN_INCLUDE_DIR)
  file(STRINGS "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" _lines
       REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*PATCH +([0-9]+).*" "\\1.\\2.\\3"
                       oneDNN_VERSION "${_lines}")
endif()
if(oneDNN_LIBRARY)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p "${oneDNN_LIBRARY}" OUTPUT_VARIABLE _headers
                  ERROR_QUIET)
  string(REGEX MATCH "SONAME +([^ \n]+)" _match "${_headers}")
  set(oneDNN_SONAME "${CMAKE_MATCH_1}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(oneDNN REQUIRED_VARS oneDNN_LIBRARY oneDNN_INCLUDE_DIR oneDNN_SONAME
                                  VERSION_VAR oneDNN_VERSION)
if(oneDNN_FOUND AND NOT TARGET oneDNN::headers)
  add_library(oneDNN::headers INTERFACE IMPORTED)
  target_include_directories(oneDNN::headers INTERFACE "${oneDNN_INCLUDE_DIR}")
endif()

# Writes a header that sends each C function of oneDNN through a table filled at run time: dnnl.hpp,
# included after it, then needs no library at link time. The names are read off dnnl.h, so it suits
# either generation.
function(quern_onednn_dispatch_header output)
  set(_names)
  foreach(_header dnnl.h dnnl_common.h)
    if(EXISTS "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/${_header}")
      file(READ "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/${_header}" _content)
      string(REGEX MATCHALL "DNNL_API[ \n*]+dnnl_[a-z0-9_]+\\(" _declarations "${_content}")
      list(APPEND _names ${_declarations})
    endif()
  endforeach()
  list(TRANSFORM _names REPLACE ".*(dnnl_[a-z0-9_]+)\\(" "\\1")
  list(REMOVE_DUPLICATES _names)
  # Only declared for those who ask for experiments.
  list(REMOVE_ITEM _names dnnl_reset_profiling dnnl_query_profiling_data)
  list(JOIN _names ") \\\n  X(" _rows)
  list(TRANSFORM _names REPLACE "(.+)" "#define \\1 (::quern::onednn_api().\\1)" OUTPUT_VARIABLE _defines)
  list(JOIN _defines "\n" _defines)
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/onednn_dispatch.h.in" "${output}" @ONLY)
endfunction()
