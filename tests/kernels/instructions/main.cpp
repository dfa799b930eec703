// SPDX-License-Identifier: Apache-2.0
// One product for count.py, which counts the instructions of this program: floats|bytes DEPTH. Six
// rows by a panel of columns; exits with 1 if the result is wrong.
#include <cstdlib>
#include <cstring>

#include "kernels/simd/int8.h"
#include "kernels/simd/simd.h"

namespace quern {

extern const Simd simd_neon_table;
extern const SimdInt8 int8_dotprod_table;

}  // namespace quern

namespace {

constexpr int rows = 6;
constexpr long columns = 64;
constexpr long most = 1024;  // of the depth
float a[rows * most], b[most * columns], c[rows * columns];
std::uint8_t x[rows * most];
std::int8_t w[most * columns];
std::int32_t sums[rows * columns];

bool floats(long depth) {
  for (float& v : a) v = 2;
  for (float& v : b) v = 3;
  quern::simd_neon_table.multiply({.a = a,
                                   .a_stride = most,
                                   .b = b,
                                   .b_stride = columns,
                                   .b_panel = columns,
                                   .c = c,
                                   .c_stride = columns,
                                   .rows = rows,
                                   .depth = depth,
                                   .columns = columns,
                                   .accumulate = false});
  return c[0] == 6 * static_cast<float>(depth) && c[rows * columns - 1] == c[0];
}

bool bytes(long depth) {
  const std::uint8_t* pieces[rows];
  for (int r = 0; r < rows; ++r) pieces[r] = x + r * most;
  std::memset(x, 2, sizeof x);
  std::memset(w, 3 ^ quern::int8_dotprod_table.flip, sizeof w);
  quern::int8_dotprod_table.multiply({.pieces = pieces,
                                      .offset = 0,
                                      .rows = rows,
                                      .panels = quern::int8_panels,
                                      .taps = 1,
                                      .depth = depth,
                                      .columns = w,
                                      .sums = sums});
  return sums[0] == 6 * depth && sums[rows * columns - 1] == sums[0];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const long depth = std::strtol(argv[2], nullptr, 10);
  if (depth < 1 || depth > most) return 2;
  return (std::strcmp(argv[1], "floats") == 0 ? floats(depth) : bytes(depth)) ? 0 : 1;
}
