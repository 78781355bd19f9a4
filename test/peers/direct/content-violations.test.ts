/**
 * An approved peer over a real socket whose operations break the rules of their contents: it gets a
 * signed, definite answer, and the channel goes on.
 */
import assert from "node:assert/strict";
import { isPassing } from "../../../shared/wire/v1/refusals.ts";
import { verifies } from "../../requirements.ts";
import { violationsOf } from "../content-violations.ts";
import { type HostileLine, HostilePeer } from "./hostile-peer.ts";
import { Side } from "./two-homes.ts";

describe("a daemon and an approved peer that breaks the rules of contents", function () {
  this.timeout(180_000);
  let here: Side;
  let peer: HostilePeer;
  let line: HostileLine;

  before(async () => {
    here = await Side.started("Here");
    peer = await HostilePeer.approved(here);
    line = await peer.online();
  });
  after(async () => {
    peer?.dispose();
    await here?.dispose();
  });

  const message = () => peer.messageFor(here);
  const ask = (operation: object, signed: object = operation) => peer.ask(line, here, operation, signed);

  it("refuses each for good, signed, and records nothing", async () => {
    verifies("PEER-058");
    for (const { name, operation } of violationsOf(message())) {
      const result = await ask(operation);
      assert.ok(!result.ok, `${name}: it was accepted`);
      assert.equal(result.error.code, "connect_message_invalid", name);
      assert.ok(!isPassing(result.error.code));
      assert.match(result.error.message, /^(It|'[a-z_.0-9]+') .+\.$/u, name);
    }
    assert.deepEqual(await here.messages(), []);
    assert.ok(!line.isEnded);
  });

  it("takes the members in any order, and a message that breaks none", async () => {
    verifies("PEER-058");
    const { operation } = violationsOf(message())[0]!;
    const turned = Object.fromEntries(Object.entries(operation["message"] as object).toReversed());
    const result = await ask({ ...operation, message: turned }, operation);
    assert.ok(!result.ok && result.error.code === "connect_message_invalid");
    const right = await ask({ op: "deliver", message: message(), blobs: [] });
    assert.ok(right.ok, JSON.stringify(right));
    assert.equal((await here.messages()).length, 1);
  });

  it("ends the channel with one that the proof isn't for, or of no known kind", async () => {
    const { operation } = violationsOf(message())[0]!;
    for (const [sent, signed] of [
      [operation, { op: "deliver", message: message(), blobs: [] }],
      [{ op: "exec" }, { op: "exec" }],
    ] as const) {
      line = await peer.online();
      await assert.rejects(ask(sent, signed), /connection ended/u);
      await here.sees("offline", peer.id, ({ online }) => !online);
    }
  });
});
