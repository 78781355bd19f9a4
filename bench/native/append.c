/* append PATH BYTES RECORDS SYNCS: writes RECORDS records of BYTES bytes and syncs, SYNCS times, into a file that was allocated and
   synced before. Prints the records per second. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  size_t bytes = strtoul(argv[2], NULL, 10), records = strtoul(argv[3], NULL, 10), syncs = strtoul(argv[4], NULL, 10);
  size_t batch = bytes * records, total = batch * syncs, step = 1 << 20;
  int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  char *feeds = malloc(step), *data = malloc(batch);
  if (file < 0 || feeds == NULL || data == NULL) return 1;
  memset(feeds, '\n', step);
  memset(data, 'x', batch);
  for (size_t at = 0; at < total; at += step)
    if (pwrite(file, feeds, step, at) != (ssize_t)step) return 1;
  if (fsync(file) != 0) return 1;
  double start = seconds();
  for (size_t at = 0; at < total; at += batch) {
    if (pwrite(file, data, batch, at) != (ssize_t)batch || fdatasync(file) != 0) return 1;
  }
  printf("%f\n", records * syncs / (seconds() - start));
  return 0;
}
