# SPDX-License-Identifier: Apache-2.0
# Writes a header that sends each C function of oneDNN through a table filled at run time: dnnl.hpp,
# included after it, then needs no library at link time. The names are read off oneDNN's headers, so it
# suits either generation. (Debian 12's own CMake configuration of oneDNN wants OpenCL's headers.)
find_path(oneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
find_library(oneDNN_LIBRARY dnnl REQUIRED)
# The name to open it by: Debian 13 has no libdnnl.so.3, but libdnnl.so.3.6.
execute_process(COMMAND ${CMAKE_OBJDUMP} -p "${oneDNN_LIBRARY}" OUTPUT_VARIABLE soname)
string(REGEX REPLACE ".*SONAME +([^ \n]+).*" "\\1" soname "${soname}")
file(GLOB headers "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl.h" "${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_common.h")
foreach(header IN LISTS headers)
  file(READ "${header}" content)
  string(REGEX MATCHALL "DNNL_API[ \n*]+dnnl_[a-z0-9_]+\\(" declarations "${content}")
  list(APPEND names ${declarations})
endforeach()
list(TRANSFORM names REPLACE ".*(dnnl_[a-z0-9_]+)\\(" "\\1")
list(REMOVE_DUPLICATES names)
# Only declared for those who ask for experiments.
list(REMOVE_ITEM names dnnl_reset_profiling dnnl_query_profiling_data)
list(JOIN names ") \\\n  X(" rows)
list(TRANSFORM names REPLACE "(.+)" "#define \\1 (::quern::onednn_api().\\1)")
list(JOIN names "\n" defines)
configure_file(onednn/dispatch.h.in onednn_dispatch.h @ONLY)
