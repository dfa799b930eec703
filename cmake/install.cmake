# SPDX-License-Identifier: Apache-2.0
# `cmake --install`: headers, libraries, a CMake package (find_package(quern): quern::quern for C++,
# quern::shared for C, quern::wasi_nn for hosts of WebAssembly) and pkg-config files (quern for C,
# quern-cpp for C++, quern-wasi-nn). Component: sdk.
include(CMakePackageConfigHelpers)

set(libraries quern_engine quern_onnx_parser quern_kernels quern_graph quern_memory quern_vocabulary)
if(QUERN_VULKAN)
  list(APPEND libraries quern_shaders)
endif()
install(TARGETS quern ${libraries} quern_c_api quern_shared quern_wasi_nn_shared
        EXPORT quern COMPONENT sdk)
install(DIRECTORY engine/include/quern frontends/wasi-nn/include/quern TYPE INCLUDE COMPONENT sdk)

# <quern/ops/*.h>: the families of graph/ops/all.h as they are, with what they include, so that
# GraphBuilder::op takes the struct of any operator.
file(STRINGS graph/ops/all.h headers REGEX "^#include \"graph/ops/")
list(TRANSFORM headers REPLACE "^#include \"(.*)\"$" "\\1")
list(APPEND headers graph/op.h graph/ops/binary_kind.h graph/ops/unary_kind.h graph/ops/window.h)
set(ops "${CMAKE_CURRENT_BINARY_DIR}/include/quern/ops")
foreach(header IN LISTS headers)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
  file(READ "${header}" text)
  string(REGEX REPLACE "\"graph/(ops/)?([a-z_]+\\.h)\"" "<quern/ops/\\2>" text "${text}")
  cmake_path(GET header FILENAME name)
  file(CONFIGURE OUTPUT "${ops}/${name}" CONTENT "${text}" @ONLY)
endforeach()
install(DIRECTORY "${ops}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/quern" COMPONENT sdk)
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/quern")
install(EXPORT quern NAMESPACE quern:: DESTINATION "${package}" FILE quern-config.cmake
        COMPONENT sdk)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/quern-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/quern-config-version.cmake" DESTINATION "${package}"
        COMPONENT sdk)

list(TRANSFORM libraries PREPEND -l OUTPUT_VARIABLE quern_static_libraries)
list(JOIN quern_static_libraries " " quern_static_libraries)
foreach(name quern quern-cpp quern-wasi-nn)
  configure_file("cmake/${name}.pc.in" "${name}.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc"
          DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT sdk)
endforeach()
