/*
 * A TLS 1.3 peer by GnuTLS that does what gnutls-cli and gnutls-serv can't be told to: padding, small records, key updates of either
 * kind, tickets.
 *
 *   gnutls-peer client|server PORT PRIORITY KEY PUB RECORD_SIZE COMMAND...
 *
 * PORT 0 lets a server choose. RECORD_SIZE, for clients, 0 keeps the default. After the handshake the commands are done in order:
 *
 *   send:BYTES:PAD   so many bytes in as few records as the size allows, zeros behind each; byte n of all that is sent is n modulo 251
 *   recv:BYTES       waits for so many bytes and checks the same pattern
 *   rekey:0|1        KeyUpdate; 1 asks for the peer's too
 *   ticket           NewSessionTicket (servers)
 *   bye              close_notify, and waits for the peer's
 *
 * Prints lines: "port N", "peer HEX" (SubjectPublicKeyInfo), "suite NAME", "done". Exit 1 with a sentence when anything fails.
 */
#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned char buffer[20000];
static size_t sent, received;

static void die(const char *what, int code) {
  fprintf(stderr, "gnutls-peer: %s: %s\n", what, code < 0 ? gnutls_strerror(code) : "failed");
  exit(1);
}

static int check(const char *what, int code) {
  if (code < 0) die(what, code);
  return code;
}

static int dial(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) die("connect", 0);
  return fd;
}

static int answer(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  socklen_t length = sizeof address;
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1) != 0) die("listen", 0);
  getsockname(listener, (struct sockaddr *)&address, &length);
  printf("port %d\n", ntohs(address.sin_port));
  fflush(stdout);
  int fd = accept(listener, NULL, NULL);
  if (fd < 0) die("accept", 0);
  close(listener);
  return fd;
}

/* What the peer does besides data, such as a key update, shows as one of these. */
static int passing(int code) { return code == GNUTLS_E_AGAIN || code == GNUTLS_E_INTERRUPTED; }

static void run(gnutls_session_t session, const char *command) {
  size_t bytes, pad;
  int flag;
  if (sscanf(command, "send:%zu:%zu", &bytes, &pad) == 2) {
    for (size_t i = 0; i < bytes; i++) buffer[i] = (unsigned char)((sent + i) % 251);
    for (size_t at = 0; at < bytes;) {
      ssize_t done = gnutls_record_send2(session, buffer + at, bytes - at, pad, 0);
      if (done <= 0) die(command, (int)done);
      at += (size_t)done;
    }
    sent += bytes;
  } else if (sscanf(command, "recv:%zu", &bytes) == 1) {
    for (size_t end = received + bytes; received < end;) {
      size_t wanted = end - received < sizeof buffer ? end - received : sizeof buffer;
      ssize_t got = gnutls_record_recv(session, buffer, wanted);
      if (got < 0 && passing((int)got)) continue;
      if (got <= 0) die("recv", (int)got);
      for (ssize_t i = 0; i < got; i++)
        if (buffer[i] != (unsigned char)((received + (size_t)i) % 251)) die("pattern", 0);
      received += (size_t)got;
    }
  } else if (sscanf(command, "rekey:%d", &flag) == 1) {
    check("rekey", gnutls_session_key_update(session, flag ? GNUTLS_KU_PEER : 0));
  } else if (strcmp(command, "ticket") == 0) {
    check("ticket", gnutls_session_ticket_send(session, 2, 0));
  } else if (strcmp(command, "bye") == 0) {
    check("bye", gnutls_bye(session, GNUTLS_SHUT_RDWR));
  } else {
    die(command, 0);
  }
}

int main(int count, char **arguments) {
  if (count < 7) die("usage", 0);
  int server = strcmp(arguments[1], "server") == 0;
  int port = atoi(arguments[2]);
  gnutls_certificate_credentials_t credentials;
  gnutls_session_t session;
  gnutls_datum_t protocol = {(unsigned char *)"svc-direct/1", 12}, ticket_key;

  check("credentials", gnutls_certificate_allocate_credentials(&credentials));
  check("key", gnutls_certificate_set_rawpk_key_file(credentials, arguments[5], arguments[4], GNUTLS_X509_FMT_PEM, NULL, 0, NULL, 0, 0, 0));
  check("init", gnutls_init(&session, (unsigned)(server ? GNUTLS_SERVER : GNUTLS_CLIENT) | GNUTLS_ENABLE_RAWPK));
  check("priority", gnutls_priority_set_direct(session, arguments[3], NULL));
  check("credentials", gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials));
  check("alpn", gnutls_alpn_set_protocols(session, &protocol, 1, GNUTLS_ALPN_MANDATORY));
  if (server) {
    gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
    check("ticket key", gnutls_session_ticket_key_generate(&ticket_key));
    check("tickets", gnutls_session_ticket_enable_server(session, &ticket_key));
  }
  if (atoi(arguments[6]) > 0) check("record size", (int)gnutls_record_set_max_size(session, (size_t)atoi(arguments[6])));
  /* A macro that names its argument twice. */
  int fd = server ? answer(port) : dial(port);
  gnutls_transport_set_int(session, fd);

  int code;
  do code = gnutls_handshake(session);
  while (code < 0 && !gnutls_error_is_fatal(code));
  check("handshake", code);

  unsigned int keys = 0;
  const gnutls_datum_t *peer = gnutls_certificate_get_peers(session, &keys);
  if (!peer || keys != 1) die("peer key", 0);
  printf("peer ");
  for (unsigned int i = 0; i < peer->size; i++) printf("%02x", peer->data[i]);
  printf("\nsuite %s\n", gnutls_cipher_get_name(gnutls_cipher_get(session)));
  for (int i = 7; i < count; i++) run(session, arguments[i]);
  printf("done\n");
  return 0;
}
