/* SPDX-License-Identifier: Apache-2.0 */
/* A guest that says which of its arguments it can read, "r:PATH", or write, "w:PATH". */
#include <errno.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    FILE* file = fopen(argv[i] + 2, argv[i][0] == 'w' ? "wb" : "rb");
    printf("%s %s\n", argv[i], file ? "yes" : strerror(errno));
    if (file) fclose(file);
  }
  return 0;
}
