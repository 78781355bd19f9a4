/** Handshakes that must fail, each with its alert. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import type { AlertName } from "../../../daemon/direct/tls/alert.ts";
import { u8, u16, vector } from "../../../daemon/direct/tls/codec.ts";
import type { TlsOptions } from "../../../daemon/direct/tls/connection.ts";
import { EXTENSIONS, type ExtensionName, extension } from "../../../daemon/direct/tls/extensions.ts";
import { TLS13, X25519 } from "../../../daemon/direct/tls/hello.ts";
import { HANDSHAKE_TYPES, handshakeMessage } from "../../../daemon/direct/tls/messages.ts";
import { CONTENT_TYPES } from "../../../daemon/direct/tls/records.ts";
import { verifies } from "../../requirements.ts";
import { refusedWith } from "./expect.ts";
import {
  alpnExtension,
  type CertificateParts,
  type ClientHelloParts,
  plainRecord,
  rawExtension,
  ScriptedClient,
  ScriptedServer,
  type ServerHelloParts,
  spki,
  type VerifyParts,
} from "./puppet.ts";
import { ALPN, SERVER_KEY, STRANGER_KEY, testKey } from "./target.ts";

/** Points of small order: 0 and 1 and their kin, some in encodings that aren't canonical (RFC 7748, section 6.1). */
const LOW_ORDER_SHARES = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
].map((hex) => Buffer.from(hex, "hex"));

/** Ed25519 keys of small order, and one that is no point. */
const BAD_KEYS = [
  "0100000000000000000000000000000000000000000000000000000000000000",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "0000000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "0200000000000000000000000000000000000000000000000000000000000000",
].map((hex) => Buffer.from(hex, "hex"));

/** A signature that every key of order 1 takes for whatever content: R is the neutral element, S is 0. */
const FORGED = Buffer.concat([u8(1), Buffer.alloc(63)]);

const certificates: readonly [string, AlertName, CertificateParts][] = [
  ["a request context", "illegal_parameter", { context: u8(1) }],
  [
    "two entries",
    "illegal_parameter",
    { entries: [{ data: spki(SERVER_KEY.publicKey) }, { data: spki(SERVER_KEY.publicKey) }] },
  ],
  ["an empty key", "decode_error", { entries: [{ data: Buffer.alloc(0) }] }],
  [
    "trailing bytes in the key",
    "bad_certificate",
    { entries: [{ data: Buffer.concat([spki(SERVER_KEY.publicKey), u8(0)]) }] },
  ],
  ["a short key", "bad_certificate", { entries: [{ data: spki(SERVER_KEY.publicKey).subarray(0, 43) }] }],
  [
    "the OID of Ed448",
    "unsupported_certificate",
    {
      entries: [
        { data: Buffer.concat([Buffer.from("302a300506032b6571032100", "hex"), SERVER_KEY.publicKey]) },
      ],
    },
  ],
  [
    "the OID of X25519",
    "unsupported_certificate",
    {
      entries: [
        { data: Buffer.concat([Buffer.from("302a300506032b656e032100", "hex"), SERVER_KEY.publicKey]) },
      ],
    },
  ],
  [
    "a bare key without SubjectPublicKeyInfo",
    "unsupported_certificate",
    { entries: [{ data: SERVER_KEY.publicKey }] },
  ],
  [
    "an RSA key",
    "unsupported_certificate",
    {
      entries: [
        {
          data: generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey.export({
            format: "der",
            type: "spki",
          }),
        },
      ],
    },
  ],
  [
    "an X.509 certificate under the raw type",
    "unsupported_certificate",
    {
      entries: [
        {
          data: Buffer.concat([Buffer.from("308201ac30820115a003020102020102", "hex"), Buffer.alloc(400, 5)]),
        },
      ],
    },
  ],
  [
    "an extension that nobody offered",
    "unsupported_extension",
    { entries: [{ data: spki(SERVER_KEY.publicKey), extensions: rawExtension(5) }] },
  ],
  [
    "an extension in the wrong place",
    "illegal_parameter",
    {
      entries: [
        { data: spki(SERVER_KEY.publicKey), extensions: rawExtension(EXTENSIONS.signature_algorithms) },
      ],
    },
  ],
];

const proofs: readonly [string, AlertName, VerifyParts][] = [
  ["a corrupt signature", "decrypt_error", { edit: (signature) => signature.fill(signature[5]! ^ 1, 5, 6) }],
  ["a short signature", "decrypt_error", { edit: (signature) => signature.subarray(0, 63) }],
  ["an empty signature", "decrypt_error", { edit: () => Buffer.alloc(0) }],
  ["another key's signature", "decrypt_error", { signer: STRANGER_KEY }],
  ["the scheme rsa_pss_rsae_sha256", "illegal_parameter", { scheme: 0x0804 }],
  ["the scheme ecdsa_secp256r1_sha256", "illegal_parameter", { scheme: 0x0403 }],
  ["a context of TLS 1.2", "decrypt_error", { label: "TLS 1.2, server CertificateVerify" }],
];

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

describe("TLS refuses out of order", () => {
  const types = Object.values(HANDSHAKE_TYPES).filter((type) => type !== HANDSHAKE_TYPES.message_hash);
  const any = (type: number): Buffer => handshakeMessage(type, Buffer.alloc(40, 1));

  const expectedByClient: Record<string, number> = {
    serverHello: HANDSHAKE_TYPES.server_hello,
    encryptedExtensions: HANDSHAKE_TYPES.encrypted_extensions,
    certificateRequest: HANDSHAKE_TYPES.certificate_request,
    certificate: HANDSHAKE_TYPES.certificate,
    certificateVerify: HANDSHAKE_TYPES.certificate_verify,
    finished: HANDSHAKE_TYPES.finished,
  };
  for (const step of ScriptedServer.steps)
    it(`as a client every message but ${step} when that is due`, () => {
      for (const type of [...types, 0, 5, 22, 67, 255].filter((type) => type !== expectedByClient[step])) {
        const server = new ScriptedServer().run({}, step);
        server.sendRecord(CONTENT_TYPES.handshake, any(type));
        refusedWith(server, "unexpected_message");
      }
    });

  const expectedByServer: Record<string, number> = {
    clientHello: HANDSHAKE_TYPES.client_hello,
    certificate: HANDSHAKE_TYPES.certificate,
    certificateVerify: HANDSHAKE_TYPES.certificate_verify,
    finished: HANDSHAKE_TYPES.finished,
  };
  for (const step of ScriptedClient.steps)
    it(`as a server every message but ${step} when that is due`, () => {
      for (const type of [...types, 0, 5, 22, 67, 255].filter((type) => type !== expectedByServer[step])) {
        const client = new ScriptedClient().run({}, step);
        client.sendRecord(CONTENT_TYPES.handshake, any(type));
        refusedWith(client, "unexpected_message");
      }
    });

  it("every message after the handshake but KeyUpdate, and tickets for a client", () => {
    for (const type of [...types, 0, 5, 22, 255].filter((type) => type !== HANDSHAKE_TYPES.key_update)) {
      const client = new ScriptedClient().run();
      client.sendRecord(CONTENT_TYPES.handshake, any(type));
      refusedWith(client, "unexpected_message");
      if (type === HANDSHAKE_TYPES.new_session_ticket) continue;
      const server = new ScriptedServer().run();
      server.sendRecord(CONTENT_TYPES.handshake, any(type));
      refusedWith(server, "unexpected_message");
    }
  });
});

describe("TLS refuses messages cut short or with a byte behind", () => {
  /** `message` with its body replaced, and its head right for it. */
  const withBody = (message: Buffer, body: Buffer): Buffer => handshakeMessage(message[0]!, body);
  /** A hello cut right before its extensions is one of TLS 1.2. */
  const alertFor = (message: Buffer, length: number, hellosEnd: number): AlertName =>
    length === hellosEnd && message[0]! <= 2 ? "protocol_version" : "decode_error";

  for (const step of ScriptedServer.steps)
    it(`${step} to a client`, () => {
      const make = (server: ScriptedServer): Buffer =>
        ({
          serverHello: () => server.helloMessage(),
          encryptedExtensions: () => server.extensionsMessage(),
          certificateRequest: () => server.requestMessage(),
          certificate: () => server.certificateMessage(),
          certificateVerify: () => server.verifyMessage(),
          finished: () => server.finishedMessage(),
        })[step]();
      const whole = make(new ScriptedServer().run({}, step));
      for (let length = 0; length <= whole.length - 3; length += 1) {
        if (length === whole.length - 4) continue;
        const server = new ScriptedServer().run({}, step);
        const message = make(server);
        const body = Buffer.concat([message.subarray(4), u8(0)]).subarray(0, length);
        server.sendRecord(CONTENT_TYPES.handshake, withBody(message, body));
        refusedWith(server, alertFor(message, length, 2 + 32 + 1 + 2 + 1));
      }
    });

  for (const step of ScriptedClient.steps)
    it(`${step} to a server`, () => {
      const make = (client: ScriptedClient): Buffer =>
        ({
          clientHello: () => client.helloMessage(),
          certificate: () => client.certificateMessage(),
          certificateVerify: () => client.verifyMessage(),
          finished: () => client.finishedMessage(),
        })[step]();
      const whole = make(new ScriptedClient().run({}, step));
      for (let length = 0; length <= whole.length - 3; length += 1) {
        if (length === whole.length - 4) continue;
        const client = new ScriptedClient().run({}, step);
        const message = make(client);
        const body = Buffer.concat([message.subarray(4), u8(0)]).subarray(0, length);
        client.sendRecord(CONTENT_TYPES.handshake, withBody(message, body));
        refusedWith(client, alertFor(message, length, 2 + 32 + 1 + 2 + 6 + 2));
      }
    });
});
