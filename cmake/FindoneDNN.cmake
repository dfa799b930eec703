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
  set(_names "")
  foreach(_header dnnl.h dnnl_common.h)
    if(NOT EXISTS "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/${_header}")
      continue()
    endif()
    file(READ "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/${_header}" _content)
    string(REGEX MATCHALL "DNNL_API[ \n*]+dnnl_[a-z0-9_]+\\(" _declarations "${_content}")
    foreach(_declaration IN LISTS _declarations)
      string(REGEX MATCH "dnnl_[a-z0-9_]+" _name "${_declaration}")
      list(APPEND _names ${_name})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES _names)
  # Only declared for those who ask for experiments.
  list(REMOVE_ITEM _names dnnl_reset_profiling dnnl_query_profiling_data)
  set(_list "")
  set(_defines "")
  foreach(_name IN LISTS _names)
    string(APPEND _list " \\\n  X(${_name})")
    string(APPEND _defines "#define ${_name} (::quern::onednn_api().${_name})\n")
  endforeach()
  file(CONFIGURE OUTPUT "${output}" @ONLY CONTENT
"// Written by cmake/FindoneDNN.cmake from the headers of oneDNN ${oneDNN_VERSION}.
#pragma once

#include <oneapi/dnnl/dnnl.h>

// NOLINTBEGIN: the names of oneDNN
#define QUERN_ONEDNN_SONAME \"${oneDNN_SONAME}\"
#define QUERN_ONEDNN_FUNCTIONS(X)${_list}

namespace quern {
struct OneDnnApi {
#define QUERN_MEMBER(name) decltype(&::name) name = nullptr;
  QUERN_ONEDNN_FUNCTIONS(QUERN_MEMBER)
#undef QUERN_MEMBER
};
const OneDnnApi& onednn_api() noexcept;
}  // namespace quern

#ifndef QUERN_ONEDNN_NO_DISPATCH
${_defines}#endif
// NOLINTEND
")
endfunction()
