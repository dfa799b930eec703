// SPDX-License-Identifier: Apache-2.0
// Workgroups whose invocations stand in lines, ACROSS of them side by side along the channels or
// columns; further lines have other pixels or rows.

layout(constant_id = 9) const uint ACROSS = 8;

// Compilers see that a workgroup of one line has all of it in common.
const bool ONE_LINE = ACROSS == gl_WorkGroupSize.x;
uint place_in_line() {
  return ONE_LINE ? gl_LocalInvocationID.x : gl_LocalInvocationID.x % ACROSS;
}
uint line_index() {
  return ONE_LINE ? gl_WorkGroupID.y
                  : gl_WorkGroupID.y * (gl_WorkGroupSize.x / ACROSS) +
                        gl_LocalInvocationID.x / ACROSS;
}
