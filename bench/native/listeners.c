/*
 * Many clients of one event stream, and the one request that makes an event: how long until the last client has it.
 *
 *   listeners SOCKET CLIENTS ROUNDS SUBSCRIBE_FILE TRIGGER_FILE [CAPTURE_FILE]
 *
 * Opens CLIENTS connections that each send the bytes of SUBSCRIBE_FILE and waits for all their response headers. Then, ROUNDS times, sends
 * the bytes of TRIGGER_FILE over another connection and measures from there until every client has a whole server-sent event with data.
 * Prints {"median_us": ..., "rounds_us": [...]}. CAPTURE_FILE gets the bytes of the last event as they arrived at one client.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "socket.h"

enum { BUFFER = 16 * 1024 };

struct client {
  int fd;
  int round; /* Events received whole. */
  size_t filled;
  char bytes[BUFFER];
};

static int ends_with(const struct client *one, const char *tail, size_t length) {
  return one->filled >= length && memcmp(one->bytes + one->filled - length, tail, length) == 0;
}

/* True when what arrived ends where a server-sent event (or its HTTP chunk) ends. */
static int at_boundary(const struct client *one) {
  return ends_with(one, "\n\n", 2) || ends_with(one, "\n\n\r\n", 4);
}

/* Reads what is there; returns what arrived in this call. */
static size_t take(struct client *one) {
  if (one->filled == BUFFER) die("event", "longer than the buffer");
  ssize_t got = read(one->fd, one->bytes + one->filled, BUFFER - one->filled);
  if (got <= 0) die("read", got == 0 ? "closed" : strerror(errno));
  one->filled += (size_t)got;
  return (size_t)got;
}

static int ascending(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

int main(int count, char **arguments) {
  if (count != 6 && count != 7) die("usage", "listeners SOCKET CLIENTS ROUNDS SUBSCRIBE TRIGGER [CAPTURE]");
  int clients = atoi(arguments[2]), rounds = atoi(arguments[3]);
  size_t subscribe_length, trigger_length;
  char *subscribe = read_file(arguments[4], &subscribe_length);
  char *trigger = read_file(arguments[5], &trigger_length);
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);

  struct client *table = calloc((size_t)clients + 1, sizeof *table);
  int epoll = epoll_create1(0);
  for (int i = 0; i < clients; i++) {
    table[i].fd = dial(arguments[1]);
    send_all(table[i].fd, subscribe, subscribe_length);
    char *end;
    do take(&table[i]);
    while (!(end = memmem(table[i].bytes, table[i].filled, "\r\n\r\n", 4)));
    if (strncmp(table[i].bytes, "HTTP/1.1 200", 12) != 0) die("refused", table[i].bytes);
    size_t rest = table[i].filled - (size_t)(end + 4 - table[i].bytes);
    memmove(table[i].bytes, end + 4, rest);
    table[i].filled = rest;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &table[i]};
    epoll_ctl(epoll, EPOLL_CTL_ADD, table[i].fd, &event);
  }
  struct client *sender = &table[clients];
  sender->fd = dial(arguments[1]);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = sender};
  epoll_ctl(epoll, EPOLL_CTL_ADD, sender->fd, &event);

  double *results = malloc(sizeof(double) * (size_t)rounds);
  struct epoll_event ready[1024];
  for (int round = 1; round <= rounds; round++) {
    usleep(20000); /* Everybody is idle again. */
    int waiting = clients, answered = 0;
    double begin = seconds();
    send_all(sender->fd, trigger, trigger_length);
    while (waiting > 0 || !answered) {
      int found = epoll_wait(epoll, ready, 1024, 30000);
      if (found == 0) die("no event", "for 30 s");
      for (int i = 0; i < found; i++) {
        struct client *one = ready[i].data.ptr;
        take(one);
        if (one == sender) {
          if (strncmp(one->bytes, "HTTP/1.1 200", 12) != 0) die("refused", one->bytes);
          one->filled = 0;
          answered = 1;
          continue;
        }
        if (!at_boundary(one)) continue;
        /* A comment to keep the connection alive is no event. */
        if (memmem(one->bytes, one->filled, "data:", 5)) {
          if (++one->round != round) die("event", "one more or less than was made");
          if (--waiting == 0) results[round - 1] = 1e6 * (seconds() - begin);
          if (count == 7 && round == rounds && waiting == 0) {
            FILE *capture = fopen(arguments[6], "wb");
            fwrite(one->bytes, 1, one->filled, capture);
            fclose(capture);
          }
        }
        one->filled = 0;
      }
    }
  }
  printf("{\"rounds_us\": [");
  for (int round = 0; round < rounds; round++) printf("%s%.1f", round ? ", " : "", results[round]);
  qsort(results, (size_t)rounds, sizeof *results, ascending);
  printf("], \"median_us\": %.1f}\n", results[rounds / 2]);
  return 0;
}
