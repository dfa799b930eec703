/* SPDX-License-Identifier: Apache-2.0 */
/* A guest that says which of its arguments it can read, "r:PATH", or write, "w:PATH", and for
 * "p:PATH" whether that file says "text" wherever one begins to read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int is_text_anywhere(const char* path) {
  char bytes[8] = "";
  const int fd = open(path, O_RDONLY);
  return fd >= 0 && pread(fd, bytes, 8, 1) == 3 && memcmp(bytes, "ext", 3) == 0 &&
         pread(fd, bytes, 8, 4) == 0 && pread(fd, bytes, 8, -1) < 0 && errno == EINVAL &&
         read(fd, bytes, 8) == 4 && memcmp(bytes, "text", 4) == 0 && close(fd) == 0;
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] == 'p') {
      printf("%s %s\n", argv[i], is_text_anywhere(argv[i] + 2) ? "yes" : "no");
      continue;
    }
    FILE* file = fopen(argv[i] + 2, argv[i][0] == 'w' ? "wb" : "rb");
    printf("%s %s\n", argv[i], file ? "yes" : strerror(errno));
    if (file) fclose(file);
  }
  return 0;
}
