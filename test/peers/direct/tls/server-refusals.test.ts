/** Clients that our server must refuse, each with its alert. */
import assert from "node:assert/strict";
import type { AlertName } from "../../../../daemon/peers/direct/tls/alert.ts";
import { u8, u16, vector } from "../../../../daemon/peers/direct/tls/codec.ts";
import type { TlsOptions } from "../../../../daemon/peers/direct/tls/connection.ts";
import { EXTENSIONS, type ExtensionName, extension } from "../../../../daemon/peers/direct/tls/extensions.ts";
import { TLS13, X25519 } from "../../../../daemon/peers/direct/tls/hello.ts";
import { HANDSHAKE_TYPES, handshakeMessage } from "../../../../daemon/peers/direct/tls/messages.ts";
import { CONTENT_TYPES } from "../../../../daemon/peers/direct/tls/records.ts";
import { verifies } from "../../../requirements.ts";
import { refusedWith } from "./expect.ts";
import { alpnExtension, plainRecord, rawExtension, spki } from "./puppet.ts";
import { type ClientHelloParts, ScriptedClient } from "./scripted-client.ts";
import { ALPN, testKey } from "./target.ts";
import { BAD_KEYS, certificates, FORGED, LOW_ORDER_SHARES, proofs } from "./wrongs.ts";

describe("TLS server refuses", () => {
  const replaced = (name: ExtensionName, instead: Buffer | null): ClientHelloParts => ({
    replace: new Map([[EXTENSIONS[name], instead]]),
  });
  const share = Buffer.alloc(32, 9);
  const shares = (...entries: [number, Buffer][]): ClientHelloParts =>
    replaced(
      "key_share",
      extension(
        "key_share",
        vector(2, ...entries.flatMap(([group, bytes]) => [u16(group), vector(2, bytes)])),
      ),
    );
  const hellos: readonly [string, AlertName, ClientHelloParts][] = [
    ["TLS 1.2 only", "protocol_version", replaced("supported_versions", null)],
    [
      "a list of earlier versions",
      "protocol_version",
      replaced("supported_versions", extension("supported_versions", vector(1, u16(0x0303), u16(0x0302)))),
    ],
    [
      "TLS 1.3 in legacy_version only",
      "protocol_version",
      { version: TLS13, ...replaced("supported_versions", null) },
    ],
    [
      "an odd list of versions",
      "decode_error",
      replaced("supported_versions", extension("supported_versions", vector(1, u16(TLS13), u8(3)))),
    ],
    [
      "an empty list of versions",
      "decode_error",
      replaced("supported_versions", extension("supported_versions", vector(1))),
    ],
    ["compression", "illegal_parameter", { compression: Buffer.of(1, 0) }],
    ["no null compression", "illegal_parameter", { compression: u8(1) }],
    ["no compression methods", "decode_error", { compression: Buffer.alloc(0) }],
    ["a session id of 33 bytes", "decode_error", { sessionId: Buffer.alloc(33) }],
    ["no suites", "decode_error", { suites: [] }],
    ["suites of TLS 1.2 only", "handshake_failure", { suites: [0xc02b, 0x1304] }],
    ["no signature_algorithms", "missing_extension", replaced("signature_algorithms", null)],
    [
      "no Ed25519",
      "handshake_failure",
      replaced("signature_algorithms", extension("signature_algorithms", vector(2, u16(0x0403)))),
    ],
    ["no supported_groups", "missing_extension", replaced("supported_groups", null)],
    [
      "no X25519",
      "handshake_failure",
      replaced("supported_groups", extension("supported_groups", vector(2, u16(0x17)))),
    ],
    ["no key_share", "missing_extension", replaced("key_share", null)],
    ["no ALPN", "no_application_protocol", replaced("application_layer_protocol_negotiation", null)],
    [
      "other protocols",
      "no_application_protocol",
      replaced("application_layer_protocol_negotiation", alpnExtension("h2", "svc-direct/2")),
    ],
    [
      "an empty list of protocols",
      "decode_error",
      replaced("application_layer_protocol_negotiation", alpnExtension()),
    ],
    [
      "an empty protocol",
      "decode_error",
      replaced("application_layer_protocol_negotiation", alpnExtension("", ALPN)),
    ],
    ["no client_certificate_type", "unsupported_certificate", replaced("client_certificate_type", null)],
    ["no server_certificate_type", "unsupported_certificate", replaced("server_certificate_type", null)],
    [
      "X.509 for the client",
      "unsupported_certificate",
      replaced("client_certificate_type", extension("client_certificate_type", vector(1, u8(0)))),
    ],
    [
      "X.509 for the server",
      "unsupported_certificate",
      replaced("server_certificate_type", extension("server_certificate_type", vector(1, u8(0)))),
    ],
    [
      "an empty list of certificate types",
      "decode_error",
      replaced("client_certificate_type", extension("client_certificate_type", vector(1))),
    ],
    [
      "a certificate type without a list",
      "decode_error",
      replaced("server_certificate_type", extension("server_certificate_type", u8(2))),
    ],
    ["a PSK", "handshake_failure", { more: [rawExtension(EXTENSIONS.pre_shared_key, Buffer.alloc(50))] }],
    ["early_data", "handshake_failure", { more: [rawExtension(EXTENSIONS.early_data)] }],
    ["a cookie", "illegal_parameter", { more: [extension("cookie", vector(2, u8(1)))] }],
    ["an extension twice", "illegal_parameter", { more: [alpnExtension(ALPN)] }],
    [
      "an unknown extension twice",
      "illegal_parameter",
      { more: [rawExtension(0x2a2a), rawExtension(0x2a2a)] },
    ],
    ["a share twice", "illegal_parameter", shares([X25519, share], [X25519, share])],
    ["a share for a group that it doesn't do", "illegal_parameter", shares([0x18, share], [X25519, share])],
    ["a short share", "illegal_parameter", shares([X25519, share.subarray(1)])],
    ["a long share", "illegal_parameter", shares([X25519, Buffer.alloc(33, 9)])],
    ["an empty share", "decode_error", shares([X25519, Buffer.alloc(0)])],
    ...LOW_ORDER_SHARES.map((bytes, index): [string, AlertName, ClientHelloParts] => [
      `share of small order ${index}`,
      "illegal_parameter",
      shares([X25519, bytes]),
    ]),
  ];
  for (const [what, alert, parts] of hellos)
    it(`a hello with ${what}: ${alert}`, () => {
      if (what === "TLS 1.2 only") verifies("DRC-085");
      if (what === "no ALPN") verifies("DRC-087");
      if (what === "X.509 for the client") verifies("DRC-086");
      const client = new ScriptedClient();
      client.clientHello(client.helloMessage(parts));
      // Nothing but the alert went out: no ServerHello for whoever is refused.
      assert.equal(client.heard.length, 0);
      refusedWith(client, alert);
    });

  const empty = { replace: new Map([[EXTENSIONS.key_share, extension("key_share", vector(2))]]) };
  const seconds: readonly [string, AlertName, ClientHelloParts][] = [
    ["no share again", "illegal_parameter", empty],
    ["another share too", "illegal_parameter", shares([X25519, share], [0x17, Buffer.alloc(65, 4)])],
    ["another session id", "illegal_parameter", { sessionId: Buffer.alloc(32, 1) }],
    ["other suites", "illegal_parameter", { suites: [0x1301] }],
    ["one more extension", "illegal_parameter", { more: [rawExtension(0x2a2a)] }],
    [
      "other content of an extension",
      "illegal_parameter",
      replaced("supported_groups", extension("supported_groups", vector(2, u16(X25519)))),
    ],
    ["a cookie that nobody gave", "illegal_parameter", { more: [extension("cookie", vector(2, u8(1)))] }],
    ["early_data", "handshake_failure", { more: [rawExtension(EXTENSIONS.early_data)] }],
  ];
  for (const [what, alert, parts] of seconds)
    it(`a second hello with ${what}: ${alert}`, () => {
      const client = new ScriptedClient();
      client.clientHello(client.helloMessage(empty));
      assert.equal(client.heard.length, 1);
      client.clientHello(client.helloMessage(parts));
      refusedWith(client, alert);
    });

  it("a second hello with another random: illegal_parameter", () => {
    const client = new ScriptedClient();
    client.clientHello(client.helloMessage(empty));
    const second = client.helloMessage();
    second[10]! ^= 1;
    client.clientHello(second);
    refusedWith(client, "illegal_parameter");
  });

  const clientCase = (options: Partial<TlsOptions> = {}) => new ScriptedClient(options);

  for (const [what, alert, parts] of certificates)
    it(`Certificate with ${what}: ${alert}`, () => {
      const client = clientCase();
      client.run({ certificate: () => client.certificate(client.certificateMessage(parts)) });
      refusedWith(client, alert);
    });

  it("an empty Certificate: certificate_required", () => {
    verifies("DRC-086");
    const client = clientCase();
    client.run({ certificate: () => client.certificate(client.certificateMessage({ entries: [] })) });
    refusedWith(client, "certificate_required");
  });

  for (const [what, alert, parts] of [
    ...proofs,
    ["the server's context", "decrypt_error", { label: "TLS 1.3, server CertificateVerify" }],
  ] as typeof proofs)
    it(`CertificateVerify with ${what}: ${alert}`, () => {
      verifies("DRC-090");
      const client = clientCase();
      client.run({ certificateVerify: () => client.certificateVerify(client.verifyMessage(parts)) });
      refusedWith(client, alert);
    });

  for (const key of BAD_KEYS)
    it(`a client key of small order or none at all (${key.toString("hex").slice(0, 8)}), whatever it signs: bad_certificate`, () => {
      const client = clientCase({ pin: () => true });
      client.run({
        certificate: () => client.certificate(client.certificateMessage({ entries: [{ data: spki(key) }] })),
        certificateVerify: () => client.certificateVerify(client.verifyMessage({ edit: () => FORGED })),
      });
      refusedWith(client, "bad_certificate");
    });

  it("no CertificateVerify: unexpected_message", () => {
    refusedWith(clientCase().run({ certificateVerify: () => {} }), "unexpected_message");
  });

  it("another key than the pinned one: access_denied", () => {
    refusedWith(clientCase({ pin: testKey(9).publicKey }).run(), "access_denied");
    refusedWith(clientCase({ pin: () => false }).run(), "access_denied");
  });

  it("a wrong Finished: decrypt_error", () => {
    const client = clientCase().run({}, "finished");
    const message = client.finishedMessage();
    message[30]! ^= 0x80;
    client.say(message);
    refusedWith(client, "decrypt_error");
  });

  it("data before Finished: unexpected_message", () => {
    for (const step of ["certificate", "certificateVerify", "finished"] as const) {
      const client = clientCase().run({}, step);
      client.sendRecord(CONTENT_TYPES.application_data, Buffer.from("hello"));
      refusedWith(client, "unexpected_message");
      assert.equal(client.target.data.length, 0);
    }
  });

  it("handshake bytes across a key change: unexpected_message", () => {
    const early = clientCase();
    early.raw(plainRecord(CONTENT_TYPES.handshake, Buffer.concat([early.helloMessage(), u8(11)])));
    refusedWith(early, "unexpected_message");
    const late = clientCase().run({}, "finished");
    const update = handshakeMessage(HANDSHAKE_TYPES.key_update, u8(0));
    late.sendRecord(CONTENT_TYPES.handshake, Buffer.concat([late.finishedMessage(), update]));
    refusedWith(late, "unexpected_message");
  });
});
