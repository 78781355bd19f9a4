/* A client of a Unix socket, or of a port of loopback, that sends the bytes of a file. What fails ends the program with a sentence. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void die(const char *what, const char *detail) {
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, detail);
  exit(1);
}

static char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file) die(path, strerror(errno));
  fseek(file, 0, SEEK_END);
  *length = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*length + 1);
  if (fread(bytes, 1, *length, file) != *length) die(path, "short read");
  fclose(file);
  return bytes;
}

/* All digits are a port of loopback. */
static int dial_port(const char *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) die(port, strerror(errno));
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

static int dial(const char *path) {
  if (path[strspn(path, "0123456789")] == 0) return dial_port(path);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) die(path, "too long for a socket");
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) die(path, strerror(errno));
  return fd;
}

static void send_all(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t sent = write(fd, bytes, length);
    if (sent < 0) die("write", strerror(errno));
    bytes += sent;
    length -= (size_t)sent;
  }
}
