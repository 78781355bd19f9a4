/*
 * One load generator for both sides of a comparison: CONNECTIONS over a Unix socket, each with one request in flight, until REQUESTS are
 * answered. What is sent are the bytes of a file, so that it knows nothing of either protocol but where an answer ends. Zero bytes in
 * the file separate requests, which are sent in turn.
 *
 *   load SOCKET|PORT http|resp CONNECTIONS WARMUP REQUESTS REQUEST_FILE
 *
 * Prints {"rate": answers per second, "p50_us": ..., "p99_us": ...} of the requests after the warm-up. Exit 1 with a sentence when an
 * answer is an error.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "clock.h"
#include "socket.h"

enum { ANSWER_BYTES = 64 * 1024 };

struct connection {
  int fd;
  size_t filled;
  double sent_at;
  char answer[ANSWER_BYTES + 1];
};

/* Length of the whole answer at the start of the buffer, 0 while it is incomplete. */
static size_t http_answer(char *answer, size_t filled) {
  char *end = memmem(answer, filled, "\r\n\r\n", 4);
  if (!end) return 0;
  if (strncmp(answer, "HTTP/1.1 200", 12) != 0) die("refused", answer);
  *end = 0;
  char *length = strcasestr(answer, "\r\ncontent-length:");
  if (!length) die("no content-length", answer);
  size_t total = (size_t)(end - answer) + 4 + strtoul(length + 17, NULL, 10);
  *end = '\r';
  return filled >= total ? total : 0;
}

static size_t resp_answer(char *answer, size_t filled) {
  char *end = memmem(answer, filled, "\r\n", 2);
  if (!end) return 0;
  size_t line = (size_t)(end - answer) + 2;
  if (answer[0] == '-') die("refused", answer);
  if (answer[0] != '$') return line;
  size_t total = line + strtoul(answer + 1, NULL, 10) + 2;
  return filled >= total ? total : 0;
}

struct request {
  const char *bytes;
  size_t length;
};

/* The requests of the file, and how many. */
static struct request *requests_of(const char *bytes, size_t length, long *count) {
  *count = 1;
  for (size_t i = 0; i < length; i++) *count += bytes[i] == 0;
  struct request *all = malloc(sizeof *all * (size_t)*count);
  const char *at = bytes;
  for (long i = 0; i < *count; i++) {
    const char *end = memchr(at, 0, (size_t)(bytes + length - at));
    all[i] = (struct request){at, (size_t)((end ? end : bytes + length) - at)};
    at = end ? end + 1 : bytes + length;
  }
  return all;
}

static int ascending(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

int main(int count, char **arguments) {
  if (count != 7) die("usage", "load SOCKET http|resp CONNECTIONS WARMUP REQUESTS REQUEST_FILE");
  size_t (*answered)(char *, size_t) = strcmp(arguments[2], "http") == 0 ? http_answer : resp_answer;
  int connections = atoi(arguments[3]);
  long warmup = atol(arguments[4]), wanted = atol(arguments[5]), all = warmup + wanted;
  size_t request_length;
  char *file = read_file(arguments[6], &request_length);
  long count_of_requests;
  struct request *requests = requests_of(file, request_length, &count_of_requests);
  double *latencies = malloc(sizeof(double) * (size_t)wanted);
  struct connection *table = calloc((size_t)connections, sizeof *table);
  int epoll = epoll_create1(0);
  for (int i = 0; i < connections; i++) {
    table[i].fd = dial(arguments[1]);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &table[i]};
    epoll_ctl(epoll, EPOLL_CTL_ADD, table[i].fd, &event);
  }

  long started = 0, done = 0;
  double begin = seconds();
  for (int i = 0; i < connections && started < all; i++, started++) {
    table[i].sent_at = seconds();
    const struct request *next = &requests[started % count_of_requests];
    send_all(table[i].fd, next->bytes, next->length);
  }
  struct epoll_event ready[256];
  while (done < all) {
    int found = epoll_wait(epoll, ready, 256, 30000);
    if (found == 0) die("no answer", "for 30 s");
    for (int i = 0; i < found; i++) {
      struct connection *one = ready[i].data.ptr;
      ssize_t got = read(one->fd, one->answer + one->filled, ANSWER_BYTES - one->filled);
      if (got <= 0) die("read", got == 0 ? "closed" : strerror(errno));
      one->filled += (size_t)got;
      one->answer[one->filled] = 0;
      size_t length = answered(one->answer, one->filled);
      if (length == 0) {
        if (one->filled == ANSWER_BYTES) die("answer", "longer than the buffer");
        continue;
      }
      if (length != one->filled) die("answer", "more than was asked for");
      one->filled = 0;
      double now = seconds();
      if (done >= warmup) latencies[done - warmup] = now - one->sent_at;
      done++;
      if (done == warmup) begin = now;
      if (started < all) {
        const struct request *next = &requests[started++ % count_of_requests];
        one->sent_at = now;
        send_all(one->fd, next->bytes, next->length);
      }
    }
  }
  double took = seconds() - begin;
  qsort(latencies, (size_t)wanted, sizeof *latencies, ascending);
  printf("{\"rate\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", (double)wanted / took,
         latencies[wanted / 2] * 1e6, latencies[wanted * 99 / 100] * 1e6);
  return 0;
}
