/*
 * The counterpart of the event stream: writes the same bytes to everybody who listens, and nothing else.
 *
 *   fanout SOCKET EVENT_FILE
 *
 * A connection whose request begins with GET gets a response header and listens. Each POST writes the bytes of EVENT_FILE to every listener
 * and is answered then. Ends with its standard input.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST = 4096 };
static const char LISTEN[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
static const char ANSWER[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

static void die(const char *what, const char *detail) {
  fprintf(stderr, "fanout: %s: %s\n", what, detail);
  exit(1);
}

int main(int count, char **arguments) {
  if (count != 3) die("usage", "fanout SOCKET EVENT_FILE");
  FILE *file = fopen(arguments[2], "rb");
  if (!file) die(arguments[2], strerror(errno));
  static char bytes[64 * 1024];
  size_t length = fread(bytes, 1, sizeof bytes, file);
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);

  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(arguments[1]) >= sizeof address.sun_path) die(arguments[1], "too long for a socket");
  strcpy(address.sun_path, arguments[1]);
  int server = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(server, (struct sockaddr *)&address, sizeof address) != 0 || listen(server, 511) != 0) die(arguments[1], strerror(errno));
  puts("ready");
  fflush(stdout);

  int epoll = epoll_create1(0), listeners[MOST], many = 0;
  struct epoll_event event = {.events = EPOLLIN, .data.fd = server};
  epoll_ctl(epoll, EPOLL_CTL_ADD, server, &event);
  event.data.fd = 0;
  epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event);
  static char request[64 * 1024];
  struct epoll_event ready[256];
  for (;;) {
    int found = epoll_wait(epoll, ready, 256, -1);
    for (int i = 0; i < found; i++) {
      int fd = ready[i].data.fd;
      if (fd == 0) return 0;
      if (fd == server) {
        event.data.fd = accept(server, NULL, NULL);
        epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event);
        continue;
      }
      ssize_t got = read(fd, request, sizeof request);
      if (got <= 0) {
        for (int n = 0; n < many; n++) {
          if (listeners[n] == fd) listeners[n--] = listeners[--many];
        }
        close(fd);
      } else if (strncmp(request, "GET", 3) == 0) {
        if (many == MOST) die("listeners", "too many");
        listeners[many++] = fd;
        if (write(fd, LISTEN, sizeof LISTEN - 1) < 0) die("write", strerror(errno));
      } else {
        for (int n = 0; n < many; n++) {
          if (write(listeners[n], bytes, length) != (ssize_t)length) die("write", strerror(errno));
        }
        if (write(fd, ANSWER, sizeof ANSWER - 1) < 0) die("write", strerror(errno));
      }
    }
  }
}
