# SPDX-License-Identifier: Apache-2.0
# libquern_run for the models of QUERN_OPS_FROM: what they need is in a header that graph/built.h includes. All
# at -Os but the loops of kernels, and as one piece.
set(CMAKE_BUILD_TYPE MinSizeRel)
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
set(QUERN_VULKAN OFF)
set(not_for_some "|gpu/.*")
set(only "${CMAKE_BINARY_DIR}/quern_only.h")
execute_process(COMMAND python3 "${root}/tools/write_only" "${QUERN_COMMAND}" "${only}" ${QUERN_OPS_FROM}
                COMMAND_ERROR_IS_FATAL ANY)
add_compile_definitions(QUERN_ONLY="${only}")
