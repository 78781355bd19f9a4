/**
 * What arrives is noise, or a valid exchange with something changed: no crash, no hang, no growth,
 * and in the end an alert or a close. One seed gives one run: SVC_TLS_FUZZ_SEED and
 * SVC_TLS_FUZZ_ROUNDS make another and a longer one.
 */
import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { ALERTS } from "../../../../daemon/peers/direct/tls/alert.ts";
import { CONTENT_TYPES } from "../../../../daemon/peers/direct/tls/records.ts";
import { Chance, SeededRandom } from "../../../support/chance.ts";
import { plainRecord } from "./puppet.ts";
import { ScriptedClient } from "./scripted-client.ts";
import { ScriptedServer } from "./scripted-server.ts";
import { exchange, Target } from "./target.ts";

const SEED = Number(process.env["SVC_TLS_FUZZ_SEED"] ?? 20);
const ROUNDS = Number(process.env["SVC_TLS_FUZZ_ROUNDS"] ?? 300);

/** One change of many kinds. The result may be the same. */
function mutate(bytes: Buffer, random: Chance): Buffer {
  const at = random.below(bytes.length + 1);
  const length = random.below(1 + random.below(64));
  const before = bytes.subarray(0, at);
  const after = bytes.subarray(Math.min(bytes.length, at + length));
  switch (random.below(7)) {
    case 0: {
      const flipped = Buffer.from(bytes);
      if (at < flipped.length) flipped[at]! ^= 1 << random.below(8);
      return flipped;
    }
    case 1:
      return Buffer.concat([before, after]);
    case 2:
      return Buffer.concat([before, random.bytes(length), bytes.subarray(at)]);
    case 3:
      return Buffer.concat([before, random.bytes(length), after]);
    case 4:
      return Buffer.concat([before, bytes.subarray(at, at + length), bytes.subarray(at)]);
    case 5: {
      const edged = Buffer.from(bytes);
      if (at < edged.length) edged[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)]!;
      return edged;
    }
    default:
      return before;
  }
}

/** Feeds in random pieces, and says that the transport ended. */
function feed(target: Target, bytes: Buffer, random: Chance): void {
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + random.below(random.below(4) === 0 ? 3 : 2000);
    target.connection.receive(Buffer.from(bytes.subarray(at, end)));
    if (target.connection.answerDue) target.connection.answer();
    at = end;
  }
  target.connection.end();
}

/** It ended once, by an alert, a close or the end of the transport, and said little. */
function orderlyEnd(target: Target, round: number): void {
  assert.equal(target.failures.length + target.closed, 1, `round ${round}`);
  // A changed byte can make internal_error of an alert that the peer sends; ours would be a fault.
  const ours = target.failure?.origin === "us" ? target.failure : undefined;
  assert.notEqual(ours?.alert, ALERTS.internal_error, `round ${round}: ${String(ours?.cause)}`);
  assert.ok(target.output.length < 4096, `round ${round}: ${target.output.length} bytes of output`);
}

function collectGarbage(): number {
  setFlagsFromString("--expose_gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

describe(`TLS fuzzing (seed ${SEED}, ${ROUNDS} rounds)`, function () {
  this.timeout(60_000 + ROUNDS * 200);

  it("noise, as it is and in records", () => {
    const random = new Chance(String(SEED));
    for (let round = 0; round < ROUNDS; round += 1) {
      const target = new Target(round % 2 === 0 ? "client" : "server", { random: new SeededRandom(random) });
      target.connection.start();
      target.take();
      const noise = Array.from({ length: 1 + random.below(8) }, () => {
        const bytes = Buffer.from(random.bytes(random.below(200)));
        return random.below(3) === 0 ? bytes : plainRecord(20 + random.below(4), bytes);
      });
      feed(target, Buffer.concat(noise), random);
      orderlyEnd(target, round);
    }
  });

  it("hellos, changed before they are sent", () => {
    const random = new Chance(String(SEED + 1));
    for (let round = 0; round < ROUNDS; round += 1) {
      const puppet = round % 2 === 0 ? new ScriptedServer() : new ScriptedClient();
      let message = puppet.helloMessage();
      for (let changes = 1 + random.below(3); changes > 0; changes -= 1) message = mutate(message, random);
      feed(puppet.target, plainRecord(CONTENT_TYPES.handshake, message), random);
      orderlyEnd(puppet.target, round);
    }
  });

  it("protected messages, changed before they are protected", () => {
    const random = new Chance(String(SEED + 2));
    for (let round = 0; round < ROUNDS; round += 1) {
      const puppet = round % 2 === 0 ? new ScriptedServer() : new ScriptedClient();
      const say = puppet.sendRecord.bind(puppet);
      puppet.sendRecord = (type, content, pad) => {
        const changed = random.below(3) === 0;
        say(
          changed && random.below(10) === 0 ? random.below(256) : type,
          changed && puppet.writeKey !== null ? mutate(Buffer.from(content), random) : content,
          pad,
        );
      };
      puppet.run();
      for (
        let count = 0;
        count < 20 && puppet.target.failures.length + puppet.target.closed === 0;
        count += 1
      ) {
        const later = [
          Buffer.of(24, 0, 0, 1, random.below(3)),
          Buffer.from(random.bytes(40)),
          Buffer.of(1, 90),
        ];
        puppet.sendRecord(21 + random.below(3), later[random.below(3)]!);
        if (puppet.target.connection.answerDue) puppet.target.connection.answer();
      }
      puppet.target.connection.end();
      orderlyEnd(puppet.target, round);
    }
  });

  it("a recorded exchange, changed on its way", () => {
    const random = new Chance(String(SEED + 3));
    for (let round = 0; round < ROUNDS; round += 1) {
      // The same randomness on both runs, so that what was recorded fits until it is changed.
      const seed = 1 + random.below(1_000_000);
      const make = () => [
        new Target("client", { random: new SeededRandom(new Chance(String(seed))) }),
        new Target("server", { random: new SeededRandom(new Chance(String(seed + 1))) }),
      ];
      const [client, server] = make() as [Target, Target];
      client.connection.start();
      const shaken = exchange(client, server);
      client.connection.write(Buffer.from(random.bytes(100)));
      server.connection.write(Buffer.from(random.bytes(100)));
      client.connection.close();
      server.connection.close();
      const closing = exchange(client, server);
      const role = round % 2 === 0 ? "client" : "server";
      const replayed = make()[round % 2]!;
      replayed.connection.start();
      const from = role === "client" ? "server" : "client";
      feed(replayed, mutate(Buffer.concat([...shaken[from], ...closing[from]]), random), random);
      orderlyEnd(replayed, round);
    }
  });

  it("holds no more after thousands of bytes of unfinished records and messages than after none", () => {
    const targets = Array.from({ length: 20 }, () => new Target("server"));
    const before = collectGarbage();
    for (const target of targets) {
      // The longest message that is taken, one byte a record, and never its last.
      target.connection.receive(plainRecord(CONTENT_TYPES.handshake, Buffer.of(1, 0, 0x40, 0)));
      for (let count = 0; count < 16_383; count += 1)
        target.connection.receive(plainRecord(CONTENT_TYPES.handshake, Buffer.of(0)));
      target.connection.receive(Buffer.concat([Buffer.of(22, 3, 3, 0x40, 0), Buffer.alloc(16_000)]));
      assert.equal(target.failure, undefined);
    }
    const held = (collectGarbage() - before) / targets.length;
    assert.ok(held < 256 * 1024, `${held} bytes for each connection`);
  });
});
