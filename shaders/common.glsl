// SPDX-License-Identifier: Apache-2.0
// Every shader starts from this.
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 0) in;

// A grid of any size, folded into two axes where one is too short.
uint workgroup_index() {
  return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}
uint invocation_index() {
  return workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
}
// Bits, which no optimiser takes for a promise that there are no NaNs.
bvec4 is_nan(vec4 x) {
  return greaterThan(floatBitsToUint(x) & 0x7fffffffu, uvec4(0x7f800000u));
}
