/** After the handshake: key updates, tickets, closing, alerts. */
import assert from "node:assert/strict";
import { ALERTS } from "../../../../daemon/peers/direct/tls/alert.ts";
import { vector } from "../../../../daemon/peers/direct/tls/codec.ts";
import { HANDSHAKE_TYPES, handshakeMessage } from "../../../../daemon/peers/direct/tls/messages.ts";
import { CONTENT_TYPES } from "../../../../daemon/peers/direct/tls/records.ts";
import { SUITES } from "../../../../daemon/peers/direct/tls/suites.ts";
import { LIMITS } from "../../../../shared/limits.ts";
import { refusedWith } from "./expect.ts";
import { type Puppet } from "./puppet.ts";
import { ScriptedClient } from "./scripted-client.ts";
import { ScriptedServer } from "./scripted-server.ts";
import { connectedPair, exchange, Target } from "./target.ts";

const { alert, handshake, application_data: applicationData } = CONTENT_TYPES;
const puppets = (): Puppet[] => [new ScriptedClient().run(), new ScriptedServer().run()];
const ticket = (): Buffer =>
  handshakeMessage(
    HANDSHAKE_TYPES.new_session_ticket,
    Buffer.alloc(8, 1),
    vector(1, Buffer.alloc(8)),
    vector(2, Buffer.alloc(200, 2)),
    vector(2),
  );

describe("TLS after the handshake", () => {
  describe("KeyUpdate", () => {
    it("of the peer's alone changes its key", () => {
      for (const puppet of puppets()) {
        puppet.keyUpdate(0);
        puppet.sendRecord(applicationData, Buffer.from("under the next key"));
        assert.equal(puppet.target.data.toString(), "under the next key");
        assert.equal(puppet.target.connection.answerDue, false);
        assert.equal(puppet.target.output.length, 0);
      }
    });

    it("that asks for ours too gets one answer, however many they are", () => {
      for (const puppet of puppets()) {
        for (let count = 0; count < 10; count += 1) puppet.keyUpdate(1);
        assert.equal(puppet.target.connection.answerDue, true);
        assert.equal(puppet.target.output.length, 0);
        puppet.target.connection.answer();
        puppet.listen();
        assert.deepEqual(puppet.heard.at(-1), Buffer.of(24, 0, 0, 1, 0));
        assert.equal(puppet.heard.filter((message) => message[0] === HANDSHAKE_TYPES.key_update).length, 1);
        puppet.updateReadKey();
        puppet.target.connection.write(Buffer.from("under our next key"));
        puppet.listen();
        assert.equal(puppet.received.toString(), "under our next key");
      }
    });

    it("is answered before data, when data comes first", () => {
      const client = new ScriptedClient().run();
      client.keyUpdate(1);
      client.target.connection.write(Buffer.from("data"));
      client.followUpdates = true;
      client.listen();
      assert.equal(client.received.toString(), "data");
    });

    it("with another value: illegal_parameter; of another length: decode_error; with bytes behind: unexpected_message", () => {
      for (const [body, name] of [
        [Buffer.of(2), "illegal_parameter"],
        [Buffer.of(255), "illegal_parameter"],
        [Buffer.alloc(0), "decode_error"],
        [Buffer.of(0, 0), "decode_error"],
      ] as const)
        for (const puppet of puppets()) {
          puppet.sendRecord(handshake, handshakeMessage(HANDSHAKE_TYPES.key_update, body));
          refusedWith(puppet, name);
        }
      for (const puppet of puppets()) {
        const update = handshakeMessage(HANDSHAKE_TYPES.key_update, Buffer.of(0));
        puppet.sendRecord(handshake, Buffer.concat([update, update]));
        refusedWith(puppet, "unexpected_message");
      }
    });

    it("in a flood: unexpected_message", () => {
      for (const puppet of puppets()) {
        for (
          let count = 0;
          count <= LIMITS.tls.idleMessages && puppet.target.failure === undefined;
          count += 1
        )
          puppet.keyUpdate(count % 2);
        refusedWith(puppet, "unexpected_message");
      }
    });

    it("with a byte of data now and then is a flood as well; with some data each it isn't", () => {
      const { idleMessages, bytesPerIdleMessage } = LIMITS.tls;
      for (const puppet of puppets()) {
        for (let count = 0; count < 10 * idleMessages && puppet.target.failure === undefined; count += 1) {
          puppet.keyUpdate(0);
          if (count % 31 === 30) puppet.sendRecord(applicationData, Buffer.of(1));
        }
        refusedWith(puppet, "unexpected_message");
        assert.ok(puppet.target.data.length <= 2);
      }
      for (const puppet of puppets()) {
        for (let count = 0; count < 10 * idleMessages; count += 1) {
          puppet.keyUpdate(0);
          puppet.sendRecord(applicationData, Buffer.alloc(bytesPerIdleMessage));
        }
        assert.equal(puppet.target.failure, undefined);
        assert.equal(puppet.target.data.length, 10 * idleMessages * bytesPerIdleMessage);
      }
    });

    for (const suite of SUITES)
      it(`of ours comes before a key is worn out, again and again (${suite.name})`, () => {
        const { client, server } = connectedPair({ suites: [suite], recordsPerKey: 3 });
        for (let count = 0; count < 20; count += 1) {
          client.connection.write(Buffer.from("to the server"));
          server.connection.write(Buffer.alloc(40_000));
        }
        exchange(client, server);
        assert.equal(client.failure ?? server.failure, undefined);
        assert.equal(server.data.length, 20 * 13);
        assert.equal(client.data.length, 20 * 40_000);
      });
  });

  it("records are taken as many at a time as the owner wants, in order", () => {
    for (const puppet of puppets()) {
      const records = Buffer.concat(
        Array.from({ length: 10 }, (_, index) => puppet.record(applicationData, Buffer.of(index))),
      );
      let rest = puppet.target.connection.receive(records.subarray(0, -3), 4);
      assert.equal(puppet.target.data.length, 4);
      let turns = 1;
      for (; rest !== null; turns += 1) rest = puppet.target.connection.receive(rest, 4);
      assert.equal(turns, 3);
      assert.equal(puppet.target.data.length, 9);
      assert.equal(puppet.target.connection.receive(records.subarray(-3), 4), null);
      assert.deepEqual([...puppet.target.data], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }
  });

  describe("tickets", () => {
    it("are ignored by a client", () => {
      const server = new ScriptedServer().run();
      server.sendRecord(handshake, Buffer.concat([ticket(), ticket()]));
      server.sendRecord(handshake, ticket().subarray(0, 100));
      server.sendRecord(handshake, ticket().subarray(100));
      server.sendRecord(applicationData, Buffer.from("data"));
      assert.equal(server.target.data.toString(), "data");
      assert.equal(server.target.failure, undefined);
      assert.equal(server.target.output.length, 0);
    });

    it("are never sent by a server", () => {
      const client = new ScriptedClient().run();
      client.listen();
      assert.ok(client.heard.every((message) => message[0] !== HANDSHAKE_TYPES.new_session_ticket));
    });

    it("cut or with bytes behind: decode_error", () => {
      const body = ticket().subarray(4);
      for (const wrong of [body.subarray(0, -1), Buffer.concat([body, Buffer.of(0)]), Buffer.alloc(0)]) {
        const server = new ScriptedServer().run();
        server.sendRecord(handshake, handshakeMessage(HANDSHAKE_TYPES.new_session_ticket, wrong));
        refusedWith(server, "decode_error");
      }
    });

    it("in a flood: unexpected_message", () => {
      const server = new ScriptedServer().run();
      for (let count = 0; count <= LIMITS.tls.idleMessages; count += 1)
        server.sendRecord(handshake, ticket());
      refusedWith(server, "unexpected_message");
    });
  });

  it("data between the parts of a message: unexpected_message", () => {
    for (const puppet of puppets()) {
      puppet.sendRecord(handshake, Buffer.of(24, 0, 0));
      puppet.sendRecord(applicationData, Buffer.from("x"));
      refusedWith(puppet, "unexpected_message");
    }
  });

  describe("closing", () => {
    it("goes each way by itself", () => {
      const { client, server } = connectedPair();
      client.connection.write(Buffer.from("last words"));
      client.connection.close();
      client.connection.close();
      exchange(client, server);
      assert.equal(server.data.toString(), "last words");
      assert.deepEqual([client.closed, server.closed], [0, 1]);
      assert.throws(() => client.connection.write(Buffer.from("more")));
      server.connection.write(Buffer.from("answer"));
      server.connection.close();
      exchange(client, server);
      assert.equal(client.data.toString(), "answer");
      assert.deepEqual([client.closed, server.closed], [1, 1]);
      client.connection.end();
      server.connection.end();
      assert.deepEqual([...client.failures, ...server.failures], []);
    });

    it("ignores whatever comes after close_notify", () => {
      const client = new ScriptedClient().run();
      const end = Buffer.concat([
        client.record(alert, Buffer.of(1, 0)),
        Buffer.from("noise that is no record"),
      ]);
      client.raw(end);
      client.sendRecord(applicationData, Buffer.from("late"));
      assert.equal(client.target.closed, 1);
      assert.equal(client.target.data.length, 0);
      assert.equal(client.target.failure, undefined);
    });

    it("without close_notify is a truncation", () => {
      for (const puppet of puppets()) {
        puppet.sendRecord(applicationData, Buffer.from("begun"));
        puppet.target.connection.end();
        assert.deepEqual([puppet.target.failure?.origin, puppet.target.failure?.alert], ["transport", null]);
        assert.match(puppet.target.failure!.message, /connection broke/);
        assert.equal(puppet.target.closed, 0);
      }
      const target = new Target("server");
      target.connection.end();
      assert.match(target.failure!.message, /handshake/);
    });

    it("by close_notify within the handshake is a failure", () => {
      const client = new ScriptedClient().run({}, "certificate");
      client.sendRecord(alert, Buffer.of(1, 0));
      assert.deepEqual([client.target.failure?.origin, client.target.failure?.alert], ["peer", 0]);
      assert.equal(client.target.closed, 0);
    });
  });

  describe("alerts", () => {
    it("of the peer end it whatever their level says, and aren't answered", () => {
      for (const level of [1, 2, 0, 77])
        for (const description of [ALERTS.access_denied, ALERTS.bad_record_mac, 99, 255])
          for (const puppet of puppets()) {
            puppet.sendRecord(alert, Buffer.of(level, description));
            assert.deepEqual(
              [puppet.target.failure?.origin, puppet.target.failure?.alert],
              ["peer", description],
            );
            assert.match(puppet.target.failure!.message, new RegExp(`\\(${description}\\)`));
            assert.equal(puppet.target.output.length, 0);
          }
    });

    it("user_canceled waits for close_notify", () => {
      const client = new ScriptedClient().run();
      client.sendRecord(alert, Buffer.of(1, 90));
      assert.equal(client.target.failure, undefined);
      client.sendRecord(alert, Buffer.of(1, 0));
      assert.equal(client.target.closed, 1);
      const flood = new ScriptedClient().run();
      for (let count = 0; count <= LIMITS.tls.idleMessages; count += 1)
        flood.sendRecord(alert, Buffer.of(1, 90));
      refusedWith(flood, "unexpected_message");
    });

    it("of a client that refuses the server's flight are protected", () => {
      const server = new ScriptedServer();
      server.run({ encryptedExtensions: () => server.encryptedExtensions(server.extensionsMessage([])) });
      assert.equal(server.rawRecordTypes.at(-1), applicationData);
      refusedWith(server, "no_application_protocol");
    });
  });

  it("an error of our own is internal_error, and says its cause", () => {
    const cause = new Error("the key is gone");
    const sign = (): Uint8Array => {
      throw cause;
    };
    const client = new ScriptedClient({ identity: { publicKey: Buffer.alloc(32, 1), sign } });
    client.clientHello();
    refusedWith(client, "internal_error");
    assert.equal(client.target.failure?.cause, cause);
  });

  it("an abandoned connection says nothing more", () => {
    const client = new ScriptedClient().run();
    client.target.connection.abandon();
    client.sendRecord(applicationData, Buffer.from("x"));
    client.target.connection.close();
    client.target.connection.end();
    assert.equal(client.target.data.length + client.target.output.length + client.target.failures.length, 0);
  });
});
