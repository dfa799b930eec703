# SPDX-License-Identifier: Apache-2.0
# libquern_run for QUERN_OPS_FROM, whose needs are in a header for graph/built.h: small but for kernels, one piece.
set(CMAKE_BUILD_TYPE MinSizeRel)
set(CMAKE_CXX_FLAGS_MINSIZEREL "-Os -DNDEBUG -fno-asynchronous-unwind-tables")
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
set(QUERN_VULKAN OFF)
set(not_for_some "|gpu/.*")
add_compile_definitions(QUERN_ONLY="${CMAKE_BINARY_DIR}/quern_only.h")
execute_process(COMMAND python3 "${CMAKE_SOURCE_DIR}/tools/write_only" "${QUERN_COMMAND}" "${CMAKE_BINARY_DIR}/quern_only.h"
                ${QUERN_OPS_FROM} COMMAND_ERROR_IS_FATAL ANY)
