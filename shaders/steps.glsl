// SPDX-License-Identifier: Apache-2.0
// Steps that a kernel applies to its result before writing it: up to four functions of the element
// and perhaps of an operand. Needs FIRST_STEP_BINDING; push constants end with `Step steps[4];`.
#include "scalar_ops.glsl"

struct Step {
  float alpha;
  float beta;
  uint period;  // of the operand: element e lies at e / inner % period
  uint inner;
};

layout(constant_id = 10) const uint STEP_0 = 0;
layout(constant_id = 11) const uint STEP_1 = 0;
layout(constant_id = 12) const uint STEP_2 = 0;
layout(constant_id = 13) const uint STEP_3 = 0;
layout(constant_id = 14) const uint READ_0 = 0;
layout(constant_id = 15) const uint READ_1 = 0;
layout(constant_id = 16) const uint READ_2 = 0;
layout(constant_id = 17) const uint READ_3 = 0;

// How an operand is read for four neighbours from element e on.
const uint FLAT = 1;      // e is a multiple of four, the operand is as long as the result
const uint SCALARS = 2;   // each by itself, at e / inner % period
const uint SINGLE = 3;    // one element
const uint VECTORS = 4;   // e % period, both multiples of four

layout(std430, binding = FIRST_STEP_BINDING) readonly buffer Operand0 { float operand_0[]; };
layout(std430, binding = FIRST_STEP_BINDING) readonly buffer Operand0v { vec4 operand_0v[]; };
layout(std430, binding = FIRST_STEP_BINDING + 1) readonly buffer Operand1 { float operand_1[]; };
layout(std430, binding = FIRST_STEP_BINDING + 1) readonly buffer Operand1v { vec4 operand_1v[]; };
layout(std430, binding = FIRST_STEP_BINDING + 2) readonly buffer Operand2 { float operand_2[]; };
layout(std430, binding = FIRST_STEP_BINDING + 2) readonly buffer Operand2v { vec4 operand_2v[]; };
layout(std430, binding = FIRST_STEP_BINDING + 3) readonly buffer Operand3 { float operand_3[]; };
layout(std430, binding = FIRST_STEP_BINDING + 3) readonly buffer Operand3v { vec4 operand_3v[]; };

#define READ_OPERAND(name, elements, vectors)                                         \
  vec4 name(uint mode, uint e, Step s) {                                              \
    if (mode == FLAT) return vectors[e / 4];                                          \
    if (mode == VECTORS) return vectors[e % s.period / 4];                            \
    if (mode == SINGLE) return vec4(elements[0]);                                     \
    return vec4(elements[e / s.inner % s.period], elements[(e + 1) / s.inner % s.period], \
                elements[(e + 2) / s.inner % s.period],                               \
                elements[(e + 3) / s.inner % s.period]);                              \
  }
READ_OPERAND(read_0, operand_0, operand_0v)
READ_OPERAND(read_1, operand_1, operand_1v)
READ_OPERAND(read_2, operand_2, operand_2v)
READ_OPERAND(read_3, operand_3, operand_3v)

#ifdef FEW_STEPS
// Where a shader has many results an invocation, each with its own copy of this: the functions that
// follow convolutions and products (StepSet::few in kernels/gpu/steps.h).
vec4 apply_step(uint op, vec4 x, vec4 y, Step s) {
  switch (op) {
    case RELU: return mix(x, vec4(0.0), lessThan(x, vec4(0.0)));
    case LEAKY_RELU: return mix(x, x * s.alpha, lessThan(x, vec4(0.0)));
    case SIGMOID: return sigmoid(x);
    case SWISH: return x * sigmoid(s.alpha * x);
    case HARD_SIGMOID: return clamped(s.alpha * x + s.beta, 0.0, 1.0);
    case HARD_SWISH: return x * clamped(x * (1.0 / 6.0) + 0.5, 0.0, 1.0);
    case CLIP: return clamped(x, s.alpha, s.beta);
    case AFFINE: return s.alpha * x + s.beta;
    case ADD: return x + y;
    case SUB: return x - y;
    case SUB + SWAPPED: return y - x;
    case MUL: return x * y;
    case PRELU: return mix(x, x * y, lessThan(x, vec4(0.0)));
    default: return x;
  }
}
#else
vec4 apply_step(uint op, vec4 x, vec4 y, Step s) {
  if (op < ADD) return unary(op, x, s.alpha, s.beta);
  return op >= SWAPPED ? binary(op - SWAPPED, y, x) : binary(op, x, y);
}
#endif

#define APPLY_STEP(op, mode, read, s)                       \
  if (op != 0) {                                            \
    vec4 y = vec4(0.0);                                     \
    if (mode != 0) y = read(mode, e, s);                    \
    x = apply_step(op, x, y, s);                            \
  }
// x: the four elements from e on of the result in memory.
#define APPLY_STEPS(x_value, element)              \
  {                                                \
    vec4 x = x_value;                              \
    const uint e = element;                        \
    APPLY_STEP(STEP_0, READ_0, read_0, steps[0])   \
    APPLY_STEP(STEP_1, READ_1, read_1, steps[1])   \
    APPLY_STEP(STEP_2, READ_2, read_2, steps[2])   \
    APPLY_STEP(STEP_3, READ_3, read_3, steps[3])   \
    x_value = x;                                   \
  }
