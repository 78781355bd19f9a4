/**
 * Every operation with arguments that no form would let through, by every kind of caller at the
 * local socket.
 */
import assert from "node:assert/strict";
import * as fc from "fast-check";
import type { DaemonClient } from "../../client/client.ts";
import { ERRORS } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { OPERATIONS } from "../../shared/operations/registry.ts";
import { withSeed } from "../support/chance.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { messageOf } from "../support/events.ts";
import { Sentinel } from "./sentinel.ts";

/** These would end or reach beyond the daemon under attack when the arguments happen to fit. */
const LEFT_OUT = new Set(["daemon_stop", "exhibit_set", "remote_access_set", "access_token_create"]);
const INVISIBLE = ["\u200b", "\u202e", "\u2066", "\ufeff", "\u0000", "\u001b[31m", "\u0085", "\u061c"];

describe("hostile arguments of every operation", () => {
  let daemon: DaemonProcess;
  let sentinel: Sentinel;
  let user: DaemonClient;
  let actor: DaemonClient;

  before(async () => {
    daemon = await DaemonProcess.started();
    sentinel = await Sentinel.stand(daemon);
    user = daemon.client();
    actor = daemon.actorClient(sentinel.token_file);
  });
  after(() => daemon.dispose());
  afterEach(() => sentinel.check());

  /** The code of the refusal; fails on anything that isn't a catalogued answer. */
  async function code(client: DaemonClient, name: string, input: unknown): Promise<string> {
    const envelope = await client.callByName(name, input);
    if (envelope.ok) return "ok";
    assert.ok(envelope.error.code in ERRORS, `${name} answers ${envelope.error.code}`);
    assert.notEqual(
      envelope.error.code,
      "internal_error",
      `${name} with ${JSON.stringify(input).slice(0, 300)}`,
    );
    assert.equal(typeof envelope.error.details, "object");
    return envelope.error.code;
  }

  it("answers any JSON with a refusal from the catalogue", async () => {
    await withSeed(async (_chance, seed) => {
      for (const [name] of OPERATIONS) {
        if (LEFT_OUT.has(name)) continue;
        const values = fc.sample(fc.jsonValue({ maxDepth: 4, noUnicodeString: false }), {
          numRuns: 25,
          seed,
        });
        for (const client of [user, actor])
          await Promise.all(values.map((value) => code(client, name, value)));
      }
    });
  });

  it("answers fields of the right name and any value", async () => {
    const odd = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom<unknown>(
        -1,
        1e308,
        0.5,
        "",
        "..",
        "../../etc/passwd",
        "/",
        "\u0000",
        "constructor",
        "__proto__",
        [[]],
      ),
      fc.string({ unit: "binary", maxLength: 50 }).map((text) => text.toWellFormed()),
    );
    await withSeed(async (_chance, seed) => {
      for (const [name, contract] of OPERATIONS) {
        if (LEFT_OUT.has(name)) continue;
        const shape = (contract.input as unknown as { shape: Record<string, unknown> }).shape;
        const fields = Object.fromEntries(Object.keys(shape).map((field) => [field, odd]));
        const inputs = fc.sample(fc.record(fields, { requiredKeys: [] }), { numRuns: 40, seed });
        for (const client of [user, actor]) {
          await Promise.all(
            inputs.map((input) =>
              code(client, name, { ...input, ...(shape["confirm"] ? { confirm: "" } : {}) }),
            ),
          );
        }
      }
    });
  });

  it("refuses an unknown field everywhere", async () => {
    for (const [name, contract] of OPERATIONS) {
      const answered = await user.callByName(name, { by: "root", unknown: true });
      assert.equal(answered.ok, false, name);
      const expected = contract.callers.includes("user") ? "invalid_args" : "permission_denied";
      assert.equal(answered.ok ? "" : answered.error.code, expected, name);
    }
  });

  it("refuses names that hide or turn what people see", async () => {
    const { group_id: groupId } = sentinel;
    for (const character of INVISIBLE) {
      const title = `a${character}b`;
      assert.equal(await code(user, "group_create", { title }), "invalid_args", JSON.stringify(character));
      assert.equal(await code(user, "group_update", { group_id: groupId, title }), "invalid_args");
      assert.equal(await code(user, "actor_add", { group_id: groupId, actor_id: title }), "invalid_args");
      assert.equal(
        await code(user, "actor_add", { group_id: groupId, actor_id: "x", title }),
        "invalid_args",
      );
      assert.equal(await code(user, "access_token_create", { name: title }), "invalid_args");
    }
  });

  it("holds the bounds at the byte", async () => {
    const group = await user.result("group_create", { title: "bounds" });
    const { group_id: groupId } = group;
    await user.result("actor_add", { group_id: groupId, actor_id: "a" });
    const send = (fields: object): Promise<string> =>
      code(user, "send", { group_id: groupId, to: ["a"], ...fields });
    const { textBytes, clientIdBytes } = LIMITS.message;
    assert.equal(await send({ text: "x".repeat(textBytes) }), "ok");
    assert.equal(await send({ text: "x".repeat(textBytes + 1) }), "invalid_args");
    assert.equal(await send({ text: "ö".repeat(textBytes / 2) }), "ok");
    assert.equal(await send({ text: `${"ö".repeat(textBytes / 2)}x` }), "invalid_args");
    assert.equal(await send({ text: "x", client_id: "k".repeat(clientIdBytes) }), "ok");
    assert.equal(await send({ text: "x", client_id: "k".repeat(clientIdBytes + 1) }), "invalid_args");
    assert.equal(await send({ text: "x", client_id: "" }), "invalid_args");
    assert.equal(await send({ text: "x", to: Array.from({ length: 129 }, () => "a") }), "invalid_args");
    assert.equal(await send({ text: "\ud800" }), "invalid_request");
    const line = "\u2028\u2029\r\n\u0000\u001b]0;x\u0007";
    assert.equal(await send({ text: line, quote_text: line, insight: line }), "ok");
    const { events } = await user.result("ledger_tail", { group_id: groupId, limit: 1 });
    assert.equal(messageOf(events[0]).text, line);
  });

  it("lets an Actor speak as nobody else", async () => {
    const { group_id: groupId } = sentinel;
    const other = await user.result("group_create", { title: "other" });
    for (const [name, contract] of OPERATIONS) {
      if (LEFT_OUT.has(name)) continue;
      const elsewhere = await actor.callByName(name, { group_id: other.group_id });
      if (contract.callers.includes("actor")) {
        assert.ok(
          elsewhere.ok ? !("group_id" in inputShape(contract)) : elsewhere.error.code !== "internal_error",
        );
      } else assert.equal(elsewhere.ok ? "ok" : elsewhere.error.code, "permission_denied", name);
    }
    await user.result("actor_add", { group_id: other.group_id, actor_id: "watch" });
    for (const input of [
      { group_id: other.group_id, to: ["watch"], text: "x" },
      { group_id: groupId, by: "user", to: ["watch"], text: "x" },
      { group_id: groupId, actor_id: "user", to: ["watch"], text: "x" },
    ]) {
      assert.notEqual(await code(actor, "send", input), "ok");
    }
    assert.notEqual(await code(actor, "inbox_read", { group_id: groupId, actor_id: "user" }), "ok");
    assert.notEqual(await code(actor, "message_history", { group_id: groupId, actor_id: "other" }), "ok");
    const { events } = await user.result("ledger_tail", { group_id: other.group_id });
    assert.ok(events.every(({ kind }) => kind !== "chat.message"));
  });
});

function inputShape(contract: { input: unknown }): Record<string, unknown> {
  return (contract.input as { shape: Record<string, unknown> }).shape;
}
