// SPDX-License-Identifier: Apache-2.0
// The bytes of every shader, from quern_spv_NAME to quern_spv_NAME_end.
.macro shader name
  .balign 4
  .globl quern_spv_\name
quern_spv_\name:
  .incbin "\name\().spv"
  .globl quern_spv_\name\()_end
quern_spv_\name\()_end:
.endm

.section .rodata
#define X(name) shader name;
#include "variants.inc"

.section .note.GNU-stack,"",@progbits
