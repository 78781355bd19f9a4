/** Servers that our client must refuse, each with its alert. */
import assert from "node:assert/strict";
import type { AlertName } from "../../../../daemon/peers/direct/tls/alert.ts";
import { u8, u16, vector } from "../../../../daemon/peers/direct/tls/codec.ts";
import { EXTENSIONS, type ExtensionName, extension } from "../../../../daemon/peers/direct/tls/extensions.ts";
import { TLS13, X25519 } from "../../../../daemon/peers/direct/tls/hello.ts";
import { HANDSHAKE_TYPES, handshakeMessage } from "../../../../daemon/peers/direct/tls/messages.ts";
import { CONTENT_TYPES } from "../../../../daemon/peers/direct/tls/records.ts";
import { verifies } from "../../../requirements.ts";
import { refusedWith } from "./expect.ts";
import { alpnExtension, plainRecord, rawExtension, spki } from "./puppet.ts";
import { ScriptedServer, type ServerHelloParts } from "./scripted-server.ts";
import { ALPN, STRANGER_KEY } from "./target.ts";
import { BAD_KEYS, certificates, FORGED, LOW_ORDER_SHARES, proofs } from "./wrongs.ts";

describe("TLS client refuses", () => {
  const hellos: readonly [string, AlertName, (server: ScriptedServer) => ServerHelloParts][] = [
    ["a server of TLS 1.2", "protocol_version", () => ({ extensions: [] })],
    [
      "a server of TLS 1.2 with its extensions",
      "protocol_version",
      () => ({ extensions: [rawExtension(65281, u8(0))] }),
    ],
    ["a server of TLS 1.0", "protocol_version", () => ({ version: 0x0301, extensions: [] })],
    [
      "a server talked down to TLS 1.2",
      "illegal_parameter",
      () => ({ extensions: [], random: Buffer.from("444f574e47524401".padStart(64, "5"), "hex") }),
    ],
    [
      "a server talked down to TLS 1.1",
      "illegal_parameter",
      () => ({ extensions: [], random: Buffer.from("444f574e47524400".padStart(64, "5"), "hex") }),
    ],
    [
      "TLS 1.2 chosen by the extension",
      "illegal_parameter",
      (s) => ({ extensions: [extension("supported_versions", u16(0x0303)), s.helloExtensions()[1]!] }),
    ],
    ["another legacy_version", "illegal_parameter", () => ({ version: TLS13 })],
    ["a session id that isn't ours", "illegal_parameter", () => ({ sessionId: Buffer.alloc(32, 1) })],
    ["a suite that wasn't offered", "illegal_parameter", () => ({ suite: 0x1304 })],
    ["a suite of TLS 1.2", "illegal_parameter", () => ({ suite: 0xc02b })],
    ["compression", "illegal_parameter", () => ({ compression: 1 })],
    ["no key share", "missing_extension", (s) => ({ extensions: [s.helloExtensions()[0]!] })],
    [
      "a share of another group",
      "illegal_parameter",
      (s) => ({
        extensions: [
          s.helloExtensions()[0]!,
          extension("key_share", u16(0x17), vector(2, Buffer.alloc(65, 4))),
        ],
      }),
    ],
    ["a short share", "illegal_parameter", (s) => ({ extensions: s.helloExtensions(Buffer.alloc(31, 9)) })],
    ["a long share", "illegal_parameter", (s) => ({ extensions: s.helloExtensions(Buffer.alloc(33, 9)) })],
    ["an empty share", "decode_error", (s) => ({ extensions: s.helloExtensions(Buffer.alloc(0)) })],
    ...LOW_ORDER_SHARES.map((share, index): [string, AlertName, (s: ScriptedServer) => ServerHelloParts] => [
      `share of small order ${index}`,
      "illegal_parameter",
      (s) => ({ extensions: s.helloExtensions(share) }),
    ]),
    [
      "an extension twice",
      "illegal_parameter",
      (s) => ({ extensions: [...s.helloExtensions(), s.helloExtensions()[1]!] }),
    ],
    [
      "a PSK",
      "unsupported_extension",
      (s) => ({ extensions: [...s.helloExtensions(), rawExtension(EXTENSIONS.pre_shared_key, u16(0))] }),
    ],
    [
      "an unknown extension",
      "unsupported_extension",
      (s) => ({ extensions: [...s.helloExtensions(), rawExtension(0x2a2a)] }),
    ],
    [
      "a cookie outside of HelloRetryRequest",
      "unsupported_extension",
      (s) => ({ extensions: [...s.helloExtensions(), extension("cookie", vector(2, u8(1)))] }),
    ],
    [
      "ALPN in ServerHello",
      "illegal_parameter",
      (s) => ({ extensions: [...s.helloExtensions(), alpnExtension(ALPN)] }),
    ],
  ];
  for (const [what, alert, parts] of hellos)
    it(`${what}: ${alert}`, () => {
      const server = new ScriptedServer();
      // Plaintext: the client has made no keys, and says so without.
      server.raw(plainRecord(CONTENT_TYPES.handshake, server.helloMessage(parts(server))));
      refusedWith(server, alert);
    });

  it("another answer than HelloRetryRequest when it sent no share: illegal_parameter", () => {
    const server = new ScriptedServer({ keyShare: false });
    server.raw(plainRecord(CONTENT_TYPES.handshake, server.helloMessage()));
    refusedWith(server, "illegal_parameter");
  });

  const versions = extension("supported_versions", u16(TLS13));
  const retries: readonly [string, AlertName, boolean, ServerHelloParts][] = [
    ["a pointless HelloRetryRequest", "illegal_parameter", true, { extensions: [versions] }],
    [
      "a HelloRetryRequest for the group whose share it has",
      "illegal_parameter",
      true,
      { extensions: [versions, extension("key_share", u16(X25519))] },
    ],
    [
      "a HelloRetryRequest for a group that it doesn't do",
      "illegal_parameter",
      true,
      { extensions: [versions, extension("key_share", u16(0x17))] },
    ],
    [
      "a HelloRetryRequest for a group that it doesn't do, without a share",
      "illegal_parameter",
      false,
      { extensions: [versions, extension("key_share", u16(0x17))] },
    ],
    [
      "a HelloRetryRequest with a share",
      "decode_error",
      false,
      { extensions: [versions, extension("key_share", u16(X25519), vector(2, Buffer.alloc(32)))] },
    ],
    [
      "a HelloRetryRequest with an empty cookie",
      "decode_error",
      false,
      { extensions: [versions, extension("cookie", vector(2))] },
    ],
    [
      "a HelloRetryRequest with an unknown extension",
      "unsupported_extension",
      false,
      { extensions: [versions, extension("key_share", u16(X25519)), rawExtension(0x2a2a)] },
    ],
    [
      "a HelloRetryRequest with ALPN",
      "illegal_parameter",
      false,
      { extensions: [versions, extension("key_share", u16(X25519)), alpnExtension(ALPN)] },
    ],
    [
      "a HelloRetryRequest without a version",
      "protocol_version",
      false,
      { extensions: [extension("key_share", u16(X25519))] },
    ],
    ["a HelloRetryRequest for a suite that it doesn't do", "illegal_parameter", false, { suite: 0x1305 }],
  ];
  for (const [what, alert, keyShare, parts] of retries)
    it(`${what}: ${alert}`, () => {
      const server = new ScriptedServer({ keyShare });
      server.raw(plainRecord(CONTENT_TYPES.handshake, server.retryMessage(parts)));
      refusedWith(server, alert);
    });

  it("a second HelloRetryRequest: unexpected_message", () => {
    const server = new ScriptedServer({ keyShare: false });
    server.retry(server.retryMessage());
    server.retry(server.retryMessage({ extensions: [versions, extension("cookie", vector(2, u8(1)))] }));
    refusedWith(server, "unexpected_message");
  });

  it("a ServerHello with another suite than its HelloRetryRequest: illegal_parameter", () => {
    const server = new ScriptedServer({ keyShare: false });
    server.retry(server.retryMessage({ suite: 0x1301 }));
    server.raw(plainRecord(CONTENT_TYPES.handshake, server.helloMessage({ suite: 0x1303 })));
    refusedWith(server, "illegal_parameter");
  });

  it("a ServerHello with another group than its HelloRetryRequest: illegal_parameter", () => {
    const server = new ScriptedServer({ keyShare: false });
    server.retry(server.retryMessage());
    const extensions = [versions, extension("key_share", u16(0x17), vector(2, Buffer.alloc(65, 4)))];
    server.raw(plainRecord(CONTENT_TYPES.handshake, server.helloMessage({ extensions })));
    refusedWith(server, "illegal_parameter");
  });

  const without = (server: ScriptedServer, name: ExtensionName, ...instead: Buffer[]): Buffer[] => [
    ...server.usualExtensions().filter((bytes) => bytes.readUInt16BE(0) !== EXTENSIONS[name]),
    ...instead,
  ];
  const answers: readonly [string, AlertName, (server: ScriptedServer) => Buffer[]][] = [
    ["no ALPN", "no_application_protocol", (s) => without(s, "application_layer_protocol_negotiation")],
    [
      "another protocol",
      "no_application_protocol",
      (s) => without(s, "application_layer_protocol_negotiation", alpnExtension("h2")),
    ],
    [
      "two protocols",
      "decode_error",
      (s) => without(s, "application_layer_protocol_negotiation", alpnExtension(ALPN, "h2")),
    ],
    [
      "an empty protocol",
      "decode_error",
      (s) => without(s, "application_layer_protocol_negotiation", alpnExtension("")),
    ],
    ["no client_certificate_type", "unsupported_certificate", (s) => without(s, "client_certificate_type")],
    ["no server_certificate_type", "unsupported_certificate", (s) => without(s, "server_certificate_type")],
    [
      "X.509 for the client",
      "illegal_parameter",
      (s) => without(s, "client_certificate_type", extension("client_certificate_type", u8(0))),
    ],
    [
      "X.509 for the server",
      "illegal_parameter",
      (s) => without(s, "server_certificate_type", extension("server_certificate_type", u8(0))),
    ],
    [
      "an empty certificate type",
      "decode_error",
      (s) => without(s, "client_certificate_type", extension("client_certificate_type")),
    ],
    [
      "a list of certificate types",
      "decode_error",
      (s) => without(s, "server_certificate_type", extension("server_certificate_type", vector(1, u8(2)))),
    ],
    [
      "a name as acknowledgement of the name",
      "decode_error",
      (s) => [...s.usualExtensions(), extension("server_name", u8(0))],
    ],
    ["a duplicate", "illegal_parameter", (s) => [...s.usualExtensions(), alpnExtension(ALPN)]],
    ["early_data", "unsupported_extension", (s) => [...s.usualExtensions(), extension("early_data")]],
    [
      "record_size_limit",
      "unsupported_extension",
      (s) => [...s.usualExtensions(), rawExtension(28, u16(16385))],
    ],
    [
      "key_share in EncryptedExtensions",
      "illegal_parameter",
      (s) => [...s.usualExtensions(), extension("key_share", u16(X25519))],
    ],
    [
      "supported_versions in EncryptedExtensions",
      "illegal_parameter",
      (s) => [...s.usualExtensions(), extension("supported_versions", u16(TLS13))],
    ],
  ];
  for (const [what, alert, extensions] of answers)
    it(`EncryptedExtensions with ${what}: ${alert}`, () => {
      if (what === "no ALPN") verifies("DRC-087");
      const server = new ScriptedServer();
      server.run({
        encryptedExtensions: () => server.encryptedExtensions(server.extensionsMessage(extensions(server))),
      });
      refusedWith(server, alert);
    });

  const requests: readonly [string, AlertName, (server: ScriptedServer) => Buffer][] = [
    ["a context", "illegal_parameter", (s) => s.requestMessage(u8(7))],
    ["no signature_algorithms", "missing_extension", (s) => s.requestMessage(Buffer.alloc(0), [])],
    [
      "no Ed25519",
      "handshake_failure",
      (s) => s.requestMessage(Buffer.alloc(0), [extension("signature_algorithms", vector(2, u16(0x0403)))]),
    ],
    [
      "an empty list of schemes",
      "decode_error",
      (s) => s.requestMessage(Buffer.alloc(0), [extension("signature_algorithms", vector(2))]),
    ],
    [
      "a key share",
      "illegal_parameter",
      (s) =>
        s.requestMessage(Buffer.alloc(0), [
          extension("signature_algorithms", vector(2, u16(0x0807))),
          extension("key_share", u16(X25519)),
        ]),
    ],
    [
      "an extension twice",
      "illegal_parameter",
      (s) => s.requestMessage(Buffer.alloc(0), [rawExtension(0x2a2a), rawExtension(0x2a2a)]),
    ],
  ];
  for (const [what, alert, message] of requests)
    it(`CertificateRequest with ${what}: ${alert}`, () => {
      const server = new ScriptedServer();
      server.run({ certificateRequest: () => server.certificateRequest(message(server)) });
      refusedWith(server, alert);
    });

  it("a server that doesn't ask for its key: unexpected_message", () => {
    const server = new ScriptedServer().run({ certificateRequest: () => {} });
    refusedWith(server, "unexpected_message");
  });

  for (const [what, alert, parts] of certificates)
    it(`Certificate with ${what}: ${alert}`, () => {
      const server = new ScriptedServer();
      server.run({ certificate: () => server.certificate(server.certificateMessage(parts)) });
      refusedWith(server, alert);
    });

  it("an empty Certificate: decode_error", () => {
    const server = new ScriptedServer();
    server.run({ certificate: () => server.certificate(server.certificateMessage({ entries: [] })) });
    refusedWith(server, "decode_error");
  });

  for (const [what, alert, parts] of [
    ...proofs,
    ["the client's context", "decrypt_error", { label: "TLS 1.3, client CertificateVerify" }],
  ] as typeof proofs)
    it(`CertificateVerify with ${what}: ${alert}`, () => {
      const server = new ScriptedServer();
      server.run({ certificateVerify: () => server.certificateVerify(server.verifyMessage(parts)) });
      refusedWith(server, alert);
    });

  for (const key of BAD_KEYS)
    it(`a server key of small order or none at all (${key.toString("hex").slice(0, 8)}), whatever it signs: bad_certificate`, () => {
      const server = new ScriptedServer({ pin: () => true });
      server.run({
        certificate: () => server.certificate(server.certificateMessage({ entries: [{ data: spki(key) }] })),
        certificateVerify: () => server.certificateVerify(server.verifyMessage({ edit: () => FORGED })),
      });
      refusedWith(server, "bad_certificate");
    });

  it("another key than the pinned one: access_denied", () => {
    verifies("DRC-089");
    refusedWith(new ScriptedServer({ pin: STRANGER_KEY.publicKey }).run(), "access_denied");
    refusedWith(new ScriptedServer({ pin: () => false }).run(), "access_denied");
    const broken = new ScriptedServer({
      pin: () => {
        throw new Error("out of order");
      },
    });
    refusedWith(broken.run(), "access_denied");
  });

  it("asks no pin about a key that wasn't proven", () => {
    let asked = 0;
    const server = new ScriptedServer({ pin: () => (asked += 1) > 0 });
    server.run({
      certificateVerify: () => server.certificateVerify(server.verifyMessage({ signer: STRANGER_KEY })),
    });
    refusedWith(server, "decrypt_error");
    assert.equal(asked, 0);
  });

  it("a wrong Finished: decrypt_error", () => {
    for (const at of [4, 20, 35]) {
      const server = new ScriptedServer();
      const finished = (): Buffer => {
        const message = server.finishedMessage();
        message[at]! ^= 1;
        return message;
      };
      server.run({ finished: () => server.say(finished()) });
      refusedWith(server, "decrypt_error");
    }
  });

  it("handshake bytes across a key change: unexpected_message", () => {
    const early = new ScriptedServer();
    early.raw(plainRecord(CONTENT_TYPES.handshake, Buffer.concat([early.helloMessage(), u8(8)])));
    refusedWith(early, "unexpected_message");
    const retry = new ScriptedServer({ keyShare: false });
    retry.raw(
      plainRecord(CONTENT_TYPES.handshake, Buffer.concat([retry.retryMessage(), retry.retryMessage()])),
    );
    refusedWith(retry, "unexpected_message");
    const late = new ScriptedServer().run({}, "finished");
    const ticket = handshakeMessage(HANDSHAKE_TYPES.new_session_ticket, Buffer.alloc(14));
    late.sendRecord(CONTENT_TYPES.handshake, Buffer.concat([late.finishedMessage(), ticket]));
    refusedWith(late, "unexpected_message");
  });
});
