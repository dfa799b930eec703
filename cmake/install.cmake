# SPDX-License-Identifier: Apache-2.0
# `cmake --install`: headers, libraries, a CMake package (find_package(quern): quern::quern for C++,
# quern::shared for C, quern::run and quern::quern_run for the runner, shared and static, quern::plan for the
# planner alone, quern::wasi_nn for hosts of WebAssembly) and pkg-config files (quern for C, quern-cpp for C++,
# quern-run, with --static the archive, quern-plan, quern-wasi-nn). `cpack --preset deb`: Debian packages of the
# components libs, wasi-nn, sdk and tools.
include(CMakePackageConfigHelpers)
install(TARGETS quern_run quern_run_shared ${libraries} ${others} EXPORT quern
        COMPONENT sdk LIBRARY COMPONENT libs NAMELINK_COMPONENT sdk INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY engine/include/quern frontends/wasi-nn/include/quern TYPE INCLUDE COMPONENT sdk)
install(CODE "execute_process(COMMAND sh \"${root}/cmake/ops_headers.sh\" \"${root}\" \"${CMAKE_BINARY_DIR}/ops\"
              COMMAND_ERROR_IS_FATAL ANY)" COMPONENT sdk)
install(DIRECTORY "${CMAKE_BINARY_DIR}/ops" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/quern" COMPONENT sdk)

set(version "${CMAKE_CURRENT_BINARY_DIR}/quern-config-version.cmake")
write_basic_package_version_file("${version}" COMPATIBILITY SameMinorVersion)
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/quern")
install(EXPORT quern NAMESPACE quern:: DESTINATION "${package}" FILE quern-config.cmake COMPONENT sdk)
install(FILES "${version}" DESTINATION "${package}" COMPONENT sdk)

list(JOIN libraries " -l" quern_static_libraries)
foreach(name quern-run ${packages})
  configure_file("cmake/${name}.pc.in" "${name}.pc" @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT sdk)
endforeach()
foreach(component libs wasi-nn sdk tools)  # Debian's place for it
  install(FILES LICENSE DESTINATION share/doc/quern-${component} RENAME copyright COMPONENT ${component})
endforeach()
include(CPack)
