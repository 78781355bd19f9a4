/** Handshakes that succeed, ours with ours and with a scripted peer. */
import assert from "node:assert/strict";
import { u8, u16, vector } from "../../../../daemon/peers/direct/tls/codec.ts";
import { EXTENSIONS, extension } from "../../../../daemon/peers/direct/tls/extensions.ts";
import { TLS13, X25519 } from "../../../../daemon/peers/direct/tls/hello.ts";
import { CONTENT_TYPES } from "../../../../daemon/peers/direct/tls/records.ts";
import { SUITES } from "../../../../daemon/peers/direct/tls/suites.ts";
import { verifies } from "../../../requirements.ts";
import { plainRecord, RETRY_RANDOM, rawExtension } from "./puppet.ts";
import { ScriptedClient } from "./scripted-client.ts";
import { ScriptedServer } from "./scripted-server.ts";
import { CLIENT_KEY, connectedPair, exchange, SERVER_KEY, Target } from "./target.ts";

/** Both sides know each other, and data goes both ways. */
function works(client: Target, server: Target): void {
  assert.equal(client.failure, undefined);
  assert.equal(server.failure, undefined);
  assert.deepEqual(client.peer, SERVER_KEY.publicKey);
  assert.deepEqual(server.peer, CLIENT_KEY.publicKey);
  client.connection.write(Buffer.from("to the server"));
  server.connection.write(Buffer.from("to the client"));
  exchange(client, server);
  assert.equal(server.data.toString(), "to the server");
  assert.equal(client.data.toString(), "to the client");
}

function scriptWorks(puppet: ScriptedClient | ScriptedServer): void {
  assert.equal(puppet.target.failure, undefined);
  assert.notEqual(puppet.target.peer, null);
  puppet.target.connection.write(Buffer.from("hello"));
  puppet.listen();
  assert.equal(puppet.received.toString(), "hello");
  puppet.sendRecord(CONTENT_TYPES.application_data, Buffer.from("answer"));
  assert.equal(puppet.target.data.toString(), "answer");
}

describe("TLS handshake", () => {
  for (const suite of SUITES) {
    for (const keyShare of [true, false]) {
      it(`connects two of ours by ${suite.name}${keyShare ? "" : " after HelloRetryRequest"}`, () => {
        verifies("DRC-085", "DRC-086");
        const { client, server } = connectedPair({ suites: [suite], keyShare });
        works(client, server);
      });
    }
  }

  it("takes the server's preferred suite of those that both do", () => {
    const client = new Target("client", { suites: [SUITES[2]!, SUITES[1]!] });
    const server = new Target("server");
    client.connection.start();
    const { server: flights } = exchange(client, server);
    works(client, server);
    // ServerHello: record head, message head, version, random, an empty session id.
    assert.equal(flights[0]!.readUInt16BE(5 + 4 + 2 + 32 + 1), SUITES[1]!.id);
  });

  for (const piece of [1, 2, 3, 7, 100])
    it(`works when bytes arrive ${piece} at a time`, () => {
      const client = new Target("client");
      const server = new Target("server");
      client.connection.start();
      exchange(client, server, piece);
      works(client, server);
      client.connection.write(Buffer.alloc(40_000, 5));
      client.connection.close();
      server.connection.close();
      exchange(client, server, piece);
      assert.equal(server.data.length, 40_000 + 13);
      assert.deepEqual([client.closed, server.closed], [1, 1]);
    });

  it("agrees with the scripted peers that the other tests use", () => {
    scriptWorks(new ScriptedServer().run());
    scriptWorks(new ScriptedClient().run());
  });

  it("asks the pin once, with the proven key, and takes its yes", () => {
    const asked: Uint8Array[] = [];
    const pin = (key: Uint8Array): boolean => asked.push(key) === 1;
    scriptWorks(new ScriptedClient({ pin }).run());
    assert.deepEqual(asked, [Uint8Array.from(CLIENT_KEY.publicKey)]);
  });

  it("takes messages in any cut: one byte a record, all in one record, with padding", () => {
    const bytewise = new ScriptedServer();
    bytewise.run({
      certificate: () => {
        const message = bytewise.certificateMessage();
        bytewise.sendBytewise(message);
      },
    });
    scriptWorks(bytewise);

    const joined = new ScriptedServer();
    joined.serverHello();
    joined.sayJoined();
    scriptWorks(joined);

    const padded = new ScriptedClient();
    padded.padding = 300;
    scriptWorks(padded.run());
  });

  describe("as a server", () => {
    it("ignores legacy_version and the record's version", () => {
      for (const version of [0x0300, 0x0301, 0x0302, 0x0304, 0xfefd]) {
        const client = new ScriptedClient();
        scriptWorks(client.run({ clientHello: () => client.clientHello(client.helloMessage({ version })) }));
      }
      const client = new ScriptedClient();
      const message = client.helloMessage();
      const record = plainRecord(CONTENT_TYPES.handshake, message);
      record.writeUInt16BE(0x0301, 1);
      client.rawHello(message, record);
      scriptWorks(client.run({ clientHello: () => {} }));
    });

    it("ignores extensions, suites, groups, versions and schemes that it doesn't know", () => {
      const client = new ScriptedClient();
      const hello = client.helloMessage({
        suites: [0x0a0a, 0x1304, 0x1303, 0xc02b],
        more: [rawExtension(0x1a1a), rawExtension(65281, u8(0)), extension("padding", Buffer.alloc(400))],
        replace: new Map([
          [
            EXTENSIONS.supported_versions,
            extension("supported_versions", vector(1, u16(0x0303), u16(0x7f1c), u16(TLS13))),
          ],
          [EXTENSIONS.supported_groups, extension("supported_groups", vector(2, u16(0x11ec), u16(X25519)))],
          [
            EXTENSIONS.key_share,
            extension(
              "key_share",
              vector(
                2,
                u16(0x11ec),
                vector(2, Buffer.alloc(1216)),
                u16(X25519),
                vector(2, client.share.publicKey),
              ),
            ),
          ],
          [
            EXTENSIONS.signature_algorithms,
            extension("signature_algorithms", vector(2, u16(0x0403), u16(0x0807))),
          ],
          [EXTENSIONS.client_certificate_type, extension("client_certificate_type", vector(1, u8(0), u8(2)))],
        ]),
      });
      scriptWorks(client.run({ clientHello: () => client.clientHello(hello) }));
      assert.equal(client.suite.id, 0x1303);
    });

    it("echoes a session id and sends ChangeCipherSpec for it alone, once", () => {
      const sessionId = Buffer.alloc(32, 4);
      const client = new ScriptedClient();
      client.run({ clientHello: () => client.clientHello(client.helloMessage({ sessionId })) });
      scriptWorks(client);
      assert.equal(client.changeCipherSpecs, 1);
      assert.deepEqual(client.heard[0]!.subarray(4 + 34, 4 + 34 + 33), Buffer.concat([u8(32), sessionId]));

      const plain = new ScriptedClient().run();
      assert.equal(plain.changeCipherSpecs, 0);

      const retried = new ScriptedClient();
      retried.run({
        clientHello: () => {
          retried.clientHello(
            retried.helloMessage({
              sessionId,
              replace: new Map([[EXTENSIONS.key_share, extension("key_share", vector(2))]]),
            }),
          );
          retried.clientHello(retried.helloMessage({ sessionId }));
        },
      });
      scriptWorks(retried);
      assert.equal(retried.changeCipherSpecs, 1);
    });

    it("asks by HelloRetryRequest for X25519, and takes padding that comes or goes in the second hello", () => {
      const client = new ScriptedClient();
      const p256 = extension("key_share", vector(2, u16(0x17), vector(2, Buffer.alloc(65, 4))));
      client.run({
        clientHello: () => {
          client.clientHello(client.helloMessage({ replace: new Map([[EXTENSIONS.key_share, p256]]) }));
          const retry = client.heard[0]!;
          assert.deepEqual(retry.subarray(6, 38), RETRY_RANDOM);
          assert.ok(retry.includes(extension("key_share", u16(X25519))));
          client.clientHello(client.helloMessage({ more: [extension("padding", Buffer.alloc(9))] }));
        },
      });
      scriptWorks(client);
    });

    it("drops ChangeCipherSpec between the hello and Finished", () => {
      const client = new ScriptedClient();
      client.run({}, "certificate");
      client.raw(plainRecord(CONTENT_TYPES.change_cipher_spec, u8(1)));
      client.certificate();
      client.raw(plainRecord(CONTENT_TYPES.change_cipher_spec, u8(1)));
      client.certificateVerify();
      client.finished();
      scriptWorks(client);
    });
  });

  describe("as a client", () => {
    it("offers exactly the profile", () => {
      verifies("DRC-087");
      const { hello } = new ScriptedServer();
      assert.deepEqual(hello.suites, [0x1301, 0x1302, 0x1303]);
      assert.equal(hello.sessionId.length, 0);
      const hex = (name: keyof typeof EXTENSIONS): string | undefined =>
        hello.extensions.get(EXTENSIONS[name])?.toString("hex");
      assert.equal(hex("supported_versions"), "020304");
      assert.equal(hex("supported_groups"), "0002001d");
      assert.equal(hex("signature_algorithms"), "00020807");
      assert.equal(hex("client_certificate_type"), "0102");
      assert.equal(hex("server_certificate_type"), "0102");
      assert.equal(
        hex("application_layer_protocol_negotiation"),
        `000d0c${Buffer.from("svc-direct/1").toString("hex")}`,
      );
      assert.equal(hex("server_name"), `001100000e${Buffer.from("direct.invalid").toString("hex")}`);
      assert.equal(hex("key_share")?.slice(0, 12), "0024001d0020");
      assert.equal(hello.extensions.size, 8);
    });

    it("returns the cookie of a HelloRetryRequest byte for byte, and changes nothing else", () => {
      const cookie = Buffer.from(Array.from({ length: 300 }, (_, index) => index & 255));
      const server = new ScriptedServer();
      server.retry(
        server.retryMessage({
          extensions: [extension("supported_versions", u16(TLS13)), extension("cookie", vector(2, cookie))],
        }),
      );
      assert.equal(server.target.failure, undefined);
      const without = server.hellos.map((bytes) => bytes.toString("hex"));
      const sent = extension("cookie", vector(2, cookie)).toString("hex");
      assert.ok(without[1]!.includes(sent));
      // Lengths apart: of the message and of the block of extensions.
      assert.equal(without[1]!.replace(sent, "").slice(8, 88), without[0]!.slice(8, 88));
      assert.deepEqual(
        [...server.hello.extensions.keys()].filter((type) => type !== EXTENSIONS.cookie).length,
        8,
      );
      scriptWorks(server.run());
    });

    it("sends the share that a HelloRetryRequest asks for", () => {
      const server = new ScriptedServer({ keyShare: false });
      server.retry(server.retryMessage());
      scriptWorks(server.run());
    });

    it("ignores unknown extensions of CertificateRequest, and acknowledgements of what it offered", () => {
      const server = new ScriptedServer();
      server.run({
        encryptedExtensions: () =>
          server.encryptedExtensions(
            server.extensionsMessage([
              ...server.usualExtensions(),
              extension("server_name"),
              extension("supported_groups", vector(2, u16(0x17), u16(X25519))),
            ]),
          ),
        certificateRequest: () =>
          server.certificateRequest(
            server.requestMessage(Buffer.alloc(0), [
              rawExtension(5),
              extension("signature_algorithms", vector(2, u16(0x0403), u16(0x0807))),
              rawExtension(0x2a2a, Buffer.alloc(20)),
            ]),
          ),
      });
      scriptWorks(server);
    });

    it("sends its key, the proof and Finished in one record", () => {
      const server = new ScriptedServer().run({}, "finished");
      server.say(server.finishedMessage());
      const flight = server.target.take();
      assert.equal(flight.length, 5 + flight.readUInt16BE(3));
    });
  });
});
