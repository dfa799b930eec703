// SPDX-License-Identifier: Apache-2.0
// The push words of a window that slides over height and width, or with DEPTH over three
// dimensions: kernels/gpu/window.h.

#ifdef DEPTH
#define SIZE_WORDS uint in_hw; uint out_hw;
#define IN_SIZE ivec2(in_hw >> 16, in_hw & 0xffff)  // x, y
#define OUT_SIZE ivec2(out_hw >> 16, out_hw & 0xffff)
// Pairs of depths: the first one in the lower half.
#define DEPTH_WORDS uint in_out_depth; uint kernel_stride_depth; uint pad_dilation_depth;
#else
#define SIZE_WORDS uint in_height; uint in_width; uint out_height; uint out_width;
#define IN_SIZE ivec2(in_width, in_height)
#define OUT_SIZE ivec2(out_width, out_height)
#define DEPTH_WORDS
#endif

// height | width << 16
#define WINDOW_WORDS SIZE_WORDS uint kernel_hw; uint strides_hw; uint pads_hw; uint dilations_hw;

ivec2 xy(uint hw) {
  return ivec2(hw >> 16, hw & 0xffff);
}
