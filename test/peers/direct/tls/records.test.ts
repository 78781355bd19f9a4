/** The record layer: what may come in which record, limits, protection. */
import assert from "node:assert/strict";
import { u8 } from "../../../../daemon/peers/direct/tls/codec.ts";
import { recordNonce, TrafficKey } from "../../../../daemon/peers/direct/tls/protection.ts";
import { CONTENT_TYPES, MAX_PLAINTEXT } from "../../../../daemon/peers/direct/tls/records.ts";
import { SUITES } from "../../../../daemon/peers/direct/tls/suites.ts";
import { LIMITS } from "../../../../shared/limits.ts";
import { refusedWith } from "./expect.ts";
import { plainRecord } from "./puppet.ts";
import { ScriptedClient } from "./scripted-client.ts";
import { ScriptedServer } from "./scripted-server.ts";
import { connectedPair, exchange } from "./target.ts";

const {
  change_cipher_spec: changeCipherSpec,
  alert,
  handshake,
  application_data: applicationData,
} = CONTENT_TYPES;
const puppets = (): [ScriptedClient, ScriptedServer] => [
  new ScriptedClient().run(),
  new ScriptedServer().run(),
];

describe("TLS records", () => {
  describe("before there are keys", () => {
    it("what isn't TLS: unexpected_message", () => {
      for (const bytes of [
        Buffer.from("GET / HTTP/1.1\r\n\r\n"),
        Buffer.alloc(5),
        Buffer.from("SSH-2.0-x\r\n"),
      ]) {
        const client = new ScriptedClient();
        client.raw(bytes);
        refusedWith(client, "unexpected_message");
      }
    });

    it("data: unexpected_message", () => {
      for (const puppet of [new ScriptedClient(), new ScriptedServer()]) {
        puppet.raw(plainRecord(applicationData, Buffer.from("hello")));
        refusedWith(puppet, "unexpected_message");
      }
    });

    it("a record of more than 2^14 bytes, as soon as its head is there: record_overflow", () => {
      const client = new ScriptedClient();
      client.raw(Buffer.of(handshake, 3, 3, 0x40, 1));
      refusedWith(client, "record_overflow");
    });

    it("an empty handshake record: unexpected_message", () => {
      const client = new ScriptedClient();
      client.raw(plainRecord(handshake, Buffer.alloc(0)));
      refusedWith(client, "unexpected_message");
    });

    it("another record between the parts of a message: unexpected_message", () => {
      for (const [type, content] of [
        [alert, Buffer.of(2, 40)],
        [changeCipherSpec, u8(1)],
      ] as const) {
        const client = new ScriptedClient();
        client.raw(plainRecord(handshake, client.helloMessage().subarray(0, 50)));
        client.raw(plainRecord(type, content));
        refusedWith(client, "unexpected_message");
      }
    });

    it("a handshake message over the limit, as soon as its head is there: illegal_parameter", () => {
      const client = new ScriptedClient();
      client.raw(plainRecord(handshake, Buffer.of(1, 0, 0x40, 1)));
      refusedWith(client, "illegal_parameter");
      const server = new ScriptedServer().run({}, "certificate");
      server.sendRecord(handshake, Buffer.of(11, 0xff, 0xff, 0xff));
      refusedWith(server, "illegal_parameter");
    });
  });

  describe("ChangeCipherSpec", () => {
    const good = plainRecord(changeCipherSpec, u8(1));

    it("before the first hello: unexpected_message", () => {
      const client = new ScriptedClient();
      client.raw(good);
      refusedWith(client, "unexpected_message");
    });

    it("with other content: unexpected_message", () => {
      for (const content of [u8(2), u8(0), Buffer.of(1, 1), Buffer.alloc(0)]) {
        const client = new ScriptedClient().run({}, "certificate");
        client.raw(plainRecord(changeCipherSpec, content));
        refusedWith(client, "unexpected_message");
        const server = new ScriptedServer();
        server.raw(plainRecord(changeCipherSpec, content));
        refusedWith(server, "unexpected_message");
      }
    });

    it("after the handshake: unexpected_message", () => {
      for (const puppet of puppets()) {
        puppet.raw(good);
        refusedWith(puppet, "unexpected_message");
      }
    });

    it("too often: unexpected_message", () => {
      const server = new ScriptedServer();
      for (let count = 0; count < LIMITS.tls.changeCipherSpecs; count += 1) server.raw(good);
      assert.equal(server.target.failure, undefined);
      server.raw(good);
      refusedWith(server, "unexpected_message");
    });

    it("under protection: unexpected_message", () => {
      const client = new ScriptedClient().run({}, "certificate");
      client.sendRecord(changeCipherSpec, u8(1));
      refusedWith(client, "unexpected_message");
    });
  });

  describe("with keys", () => {
    it("anything without protection: unexpected_message", () => {
      for (const [type, content] of [
        [handshake, Buffer.of(24, 0, 0, 1, 0)],
        [alert, Buffer.of(1, 0)],
      ] as const) {
        for (const puppet of puppets()) {
          puppet.raw(plainRecord(type, content));
          refusedWith(puppet, "unexpected_message");
        }
        const server = new ScriptedServer().run({}, "certificate");
        server.raw(plainRecord(type, content));
        refusedWith(server, "unexpected_message");
      }
      const client = new ScriptedClient().run({}, "certificateVerify");
      client.raw(plainRecord(handshake, client.verifyMessage()));
      refusedWith(client, "unexpected_message");
    });

    it("a plaintext alert of a client that could make no keys is its reason, until it has shown that it has some", () => {
      const client = new ScriptedClient().run({}, "certificate");
      client.raw(plainRecord(alert, Buffer.of(2, 47)));
      assert.deepEqual([client.target.failure?.origin, client.target.failure?.alert], ["peer", 47]);
      client.listen();
      assert.deepEqual(client.alerts, []);
      const later = new ScriptedClient().run({}, "certificateVerify");
      later.raw(plainRecord(alert, Buffer.of(2, 47)));
      refusedWith(later, "unexpected_message");
    });

    it("any bit flipped: bad_record_mac", () => {
      for (const suite of SUITES) {
        const secret = Buffer.alloc(suite.hashBytes, 3);
        const record = Buffer.concat(
          new TrafficKey(suite, secret).seal(applicationData, Buffer.from("a message")),
        );
        for (let bit = 0; bit < record.length * 8; bit += 1) {
          const altered = Buffer.from(record);
          altered[bit >> 3]! ^= 1 << (bit & 7);
          assert.throws(
            () => new TrafficKey(suite, secret).open(altered.subarray(0, 5), altered.subarray(5)),
            { alert: 20 },
          );
        }
      }
      for (const at of [5, 9, -1, 1, 2]) {
        const client = new ScriptedClient().run();
        const record = client.record(applicationData, Buffer.from("a message"));
        record[at < 0 ? record.length + at : at]! ^= 4;
        client.raw(record);
        refusedWith(client, "bad_record_mac");
        assert.equal(client.target.data.length, 0);
      }
    });

    it("a record that comes twice, or is left out, or is cut to its tag: bad_record_mac", () => {
      const twice = new ScriptedClient().run();
      const record = twice.record(applicationData, Buffer.from("once"));
      twice.raw(record);
      assert.equal(twice.target.data.toString(), "once");
      twice.raw(record);
      refusedWith(twice, "bad_record_mac");
      const skipped = new ScriptedClient().run();
      skipped.record(applicationData, Buffer.from("lost"));
      skipped.sendRecord(applicationData, Buffer.from("found"));
      refusedWith(skipped, "bad_record_mac");
      for (const length of [0, 1, 15, 16]) {
        const cut = new ScriptedClient().run();
        cut.raw(plainRecord(applicationData, Buffer.alloc(length)));
        refusedWith(cut, "bad_record_mac");
      }
    });

    it("a record of more than 2^14 + 256 bytes, as soon as its head is there: record_overflow", () => {
      for (const puppet of puppets()) {
        puppet.raw(Buffer.of(applicationData, 3, 3, 0x41, 1));
        refusedWith(puppet, "record_overflow");
      }
    });

    it("takes 2^14 bytes, padding within 2^14 + 1 with the type, and no byte more: record_overflow", () => {
      const full = new ScriptedClient().run();
      full.sendRecord(applicationData, Buffer.alloc(MAX_PLAINTEXT, 1), 0);
      full.sendRecord(applicationData, Buffer.alloc(100, 1), MAX_PLAINTEXT - 100);
      assert.equal(full.target.data.length, MAX_PLAINTEXT + 100);
      full.sendRecord(applicationData, Buffer.alloc(100, 1), MAX_PLAINTEXT - 99);
      refusedWith(full, "record_overflow");
      const over = new ScriptedServer().run();
      over.sendRecord(applicationData, Buffer.alloc(MAX_PLAINTEXT + 1, 1), 0);
      refusedWith(over, "record_overflow");
    });

    it("padding alone: unexpected_message", () => {
      for (const zeros of [0, 1, 500]) {
        const client = new ScriptedClient().run();
        client.raw(Buffer.concat(client.writeKey!.seal(0, Buffer.alloc(zeros))));
        refusedWith(client, "unexpected_message");
      }
    });

    it("an unknown type inside: unexpected_message", () => {
      for (const type of [1, 19, 24, 255]) {
        const client = new ScriptedClient().run();
        client.sendRecord(type, Buffer.from("hello"));
        refusedWith(client, "unexpected_message");
      }
    });

    it("empty handshake and alert records, padded or not: unexpected_message", () => {
      for (const type of [handshake, alert])
        for (const padding of [0, 10]) {
          const client = new ScriptedClient().run();
          client.sendRecord(type, Buffer.alloc(0), padding);
          refusedWith(client, "unexpected_message");
        }
    });

    it("an alert in two records, two in one, or cut: decode_error", () => {
      for (const content of [u8(1), Buffer.of(1, 90, 1, 0), Buffer.of(2, 40, 0)]) {
        const client = new ScriptedClient().run();
        client.sendRecord(alert, content);
        refusedWith(client, "decode_error");
      }
    });

    it("takes empty data records, and no flood of them: unexpected_message", () => {
      const enough = LIMITS.tls.idleMessages * LIMITS.tls.bytesPerIdleMessage;
      const client = new ScriptedClient().run();
      for (let round = 0; round < 3; round += 1) {
        for (let count = 0; count < LIMITS.tls.idleMessages; count += 1)
          client.sendRecord(applicationData, Buffer.alloc(0), count);
        client.sendRecord(applicationData, Buffer.alloc(enough));
      }
      assert.equal(client.target.data.length, 3 * enough);
      for (let count = 0; count <= LIMITS.tls.idleMessages; count += 1)
        client.sendRecord(applicationData, Buffer.alloc(0));
      refusedWith(client, "unexpected_message");
    });

    it("a key used for too many records: unexpected_message", () => {
      const client = new ScriptedClient().run();
      client.sendRecord(applicationData, Buffer.from("x"));
      const records = Object.getOwnPropertyDescriptor(TrafficKey.prototype, "records")!;
      // Nobody waits for 24 million records: the count is said to be there.
      Object.defineProperty(TrafficKey.prototype, "records", { get: () => LIMITS.tls.recordsPerReadKey });
      try {
        client.target.connection.receive(client.record(applicationData, Buffer.from("x")));
      } finally {
        Object.defineProperty(TrafficKey.prototype, "records", records);
      }
      refusedWith(client, "unexpected_message");
    });
  });

  it("writes at most 2^14 bytes in a record", () => {
    const { client, server } = connectedPair();
    client.connection.write(Buffer.alloc(MAX_PLAINTEXT * 2 + 1));
    const bytes = client.output;
    const lengths = [];
    for (let at = 0; at < bytes.length; at += 5 + bytes.readUInt16BE(at + 3))
      lengths.push(bytes.readUInt16BE(at + 3));
    assert.deepEqual(lengths, [MAX_PLAINTEXT + 17, MAX_PLAINTEXT + 17, 18]);
    exchange(client, server);
    assert.equal(server.data.length, MAX_PLAINTEXT * 2 + 1);
  });

  it("makes nonces of the iv and the whole sequence number", () => {
    const iv = Buffer.from("000102030405fffefdfcfbfa", "hex");
    const low = BigInt(`0x${iv.subarray(4).toString("hex")}`);
    for (const sequence of [
      0,
      1,
      255,
      65_536,
      2 ** 24 - 1,
      2 ** 24,
      2 ** 24 + 5,
      2 ** 32 - 1,
      2 ** 32,
      2 ** 40 + 3,
    ]) {
      const nonce = Buffer.from(recordNonce(iv, sequence, Buffer.from(iv)));
      const expected = (low ^ BigInt(sequence)).toString(16).padStart(16, "0");
      assert.equal(nonce.toString("hex"), `00010203${expected}`);
    }
    const suite = SUITES[0]!;
    const key = new TrafficKey(suite, Buffer.alloc(32, 3));
    const sealed = Array.from({ length: 300 }, () =>
      Buffer.concat(key.seal(applicationData, Buffer.alloc(20))).toString("hex"),
    );
    assert.equal(new Set(sealed).size, 300);
    assert.equal(key.records, 300);
  });
});
