/* replace DIRECTORY BYTES COUNT: puts COUNT files of BYTES bytes into DIRECTORY, each written, synced, renamed to its name, the directory
   synced. Prints the files per second. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  size_t bytes = strtoul(argv[2], NULL, 10), count = strtoul(argv[3], NULL, 10);
  char *data = malloc(bytes), temporary[4096], name[4096];
  if (data == NULL || (mkdir(argv[1], 0700) != 0)) return 1;
  memset(data, 'x', bytes);
  double start = seconds();
  for (size_t made = 0; made < count; made += 1) {
    snprintf(temporary, sizeof temporary, "%s/.%zu.json.tmp", argv[1], made);
    snprintf(name, sizeof name, "%s/%zu.json", argv[1], made);
    int file = open(temporary, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file < 0 || pwrite(file, data, bytes, 0) != (ssize_t)bytes || fsync(file) != 0 || close(file) != 0) return 1;
    if (rename(temporary, name) != 0) return 1;
    int directory = open(argv[1], O_RDONLY | O_DIRECTORY);
    if (directory < 0 || fsync(directory) != 0 || close(directory) != 0) return 1;
  }
  printf("%f\n", count / (seconds() - start));
  return 0;
}
