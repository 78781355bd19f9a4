/*
 * A program behind a pseudo-terminal that somebody only reads from: how long until its last byte is read.
 *
 *   pty COLUMNS ROWS PROGRAM [ARGUMENT...]
 *
 * Prints {"ms": ..., "bytes": ...}.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

enum { BUFFER = 64 * 1024 };

int main(int count, char **arguments) {
  if (count < 4) {
    fprintf(stderr, "usage: pty COLUMNS ROWS PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  struct winsize size = {.ws_col = (unsigned short)atoi(arguments[1]), .ws_row = (unsigned short)atoi(arguments[2])};
  double begin = seconds();
  int terminal;
  pid_t child = forkpty(&terminal, NULL, NULL, &size);
  if (child < 0) {
    fprintf(stderr, "pty: %s\n", strerror(errno));
    return 1;
  }
  if (child == 0) {
    execvp(arguments[3], arguments + 3);
    _exit(127);
  }
  static char buffer[BUFFER];
  long bytes = 0;
  ssize_t got;
  while ((got = read(terminal, buffer, sizeof buffer)) > 0) bytes += got;
  int status;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fprintf(stderr, "pty: %s failed\n", arguments[3]);
    return 1;
  }
  printf("{\"ms\": %.3f, \"bytes\": %ld}\n", 1e3 * (seconds() - begin), bytes);
  return 0;
}
