/** Which requests are authentic, what one peer may cost, and what everybody else learns. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import * as fc from "fast-check";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { ConnectPeerEnvelope, type ConnectPeerOperation } from "../../shared/wire/v1/peer.ts";
import { refusal } from "../messaging/setting.ts";
import { verifies } from "../requirements.ts";
import {
  deliverOperation,
  MINUTE,
  newIdentity,
  type ProofChanges,
  refused,
  sha256,
  Target,
  type Way,
  WEB,
} from "./receiver-setting.ts";

const WAYS: readonly Way[] = ["account", "external", "direct"];
const DENIED = refusal("connect_peer_denied");

describe("Receiver: proofs", () => {
  let target: Target;

  const opened = async (way: Way): Promise<void> => {
    target = await Target.open(way);
  };

  afterEach(() => target.home.remove());

  /** Nobody gets a signature for it, and nothing is recorded. */
  async function isDenied(operation: ConnectPeerOperation, changes: ProofChanges = {}): Promise<void> {
    await assert.rejects(target.ask(operation, changes), DENIED);
    assert.equal(target.messages().length, 0);
  }

  it("end the wait of a sender that the peer refused before it knew it, once, and only if they are its own", async () => {
    await opened("account");
    const { home, authorities } = target;
    const heard: string[] = [];
    authorities.onReachable((instanceId) => heard.push(instanceId));
    const query = (): ConnectPeerOperation => ({
      op: "catalog",
      source_group_id: "",
      target_group_id: null,
      after: null,
    });
    authorities.denied(target.grant());
    await assert.rejects(target.ask(query(), { signer: await newIdentity() }), DENIED);
    assert.deepEqual(heard, []);
    assert.equal(authorities.lastContact(target.grant()), null);
    await target.ask(query());
    await target.ask(query());
    assert.deepEqual(heard, [target.peer.instance_id]);
    assert.equal(authorities.lastContact(target.grant()), home.clock.now());
  });

  for (const way of WAYS) {
    it(`hold for their time alone (${way})`, async () => {
      verifies("PROOF-018", "PROOF-019", "DRC-057", "LIM-059");
      await opened(way);
      const { clock } = target.home;
      const operation = deliverOperation(target.message());
      await isDenied(operation, { lifetime: MINUTE + 1 });
      await isDenied(operation, { lifetime: 0 });
      await isDenied(operation, { lifetime: -1000 });
      // Whose clock is wrong is told what this one shows.
      for (const issued of [clock.now() + 31_000, clock.now() - MINUTE]) {
        await assert.rejects(target.ask(operation, { issued }), (error: unknown) => {
          assert.ok(error instanceof Refusal);
          assert.equal(error.code, "connect_clock_differs");
          assert.deepEqual(error.details, { now: new Date(clock.now()).toISOString() });
          return true;
        });
      }
      // Lifetimes that no clock explains come first.
      await isDenied(operation, { issued: clock.now() + 31_000, lifetime: MINUTE + 1 });
      await target.ask(operation, { issued: clock.now() + 29_000 });
      await target.ask(operation, { issued: clock.now() - MINUTE + 1 });
    });

    it(`are by the peer's own key, for this operation and this domain (${way})`, async () => {
      verifies("PROOF-020", "PEER-056", "DRC-053", "DRC-054", "DRC-056");
      await opened(way);
      const operation = deliverOperation(target.message());
      await isDenied(operation, { signer: await newIdentity() });
      await isDenied(operation, { signer: target.identity });
      await isDenied(operation, { operation_sha256: sha256("another") });
      const request = target.request(operation);
      const altered = { ...request, operation: deliverOperation(target.message({ text: "altered" })) };
      await assert.rejects(target.receiver.receive(altered, target.arrival), DENIED);
      const bent = Buffer.from(request.proof.signature, "base64");
      bent[3]! ^= 1;
      const forged = { ...request, proof: { ...request.proof, signature: bent.toString("base64") } };
      await assert.rejects(target.receiver.receive(forged, target.arrival), DENIED);
      const zero = {
        ...request,
        proof: { ...request.proof, signature: Buffer.alloc(64).toString("base64") },
      };
      await assert.rejects(target.receiver.receive(zero, target.arrival), DENIED);
      assert.equal(target.messages().length, 0);
    });

    it(`name exactly the instances, devices, account and connection of the grant (${way})`, async () => {
      verifies("PEER-031", "PEER-032", "PEER-056", "DRC-020", "DRC-021");
      await opened(way);
      const stranger = await newIdentity();
      const operation = deliverOperation(target.message());
      const bend = (fields: object) => isDenied(operation, { change: (proof) => ({ ...proof, ...fields }) });
      await bend({ source_instance_id: stranger.instance_id });
      await bend({ target_instance_id: stranger.instance_id });
      await bend({ target_instance_id: target.peer.instance_id });
      if (way !== "direct") {
        await bend({ source_device_id: "device-before" });
        await bend({ target_device_id: "device-before" });
        await bend({ account_id: "account-2" });
        await bend({ account_origin: "https://elsewhere.example" });
      }
      const other = way === "direct" ? `direct-${randomUUID()}` : randomUUID();
      await bend({ connection_id: other });
      const message = target.message();
      const moved = { ...message, source: { ...message.source, instance_id: stranger.instance_id } };
      await isDenied(deliverOperation(moved));
      const elsewhere = { ...message, target: { ...message.target, instance_id: stranger.instance_id } };
      await isDenied(deliverOperation(elsewhere));
    });

    it(`are worth nothing without a grant in force, also when it ends meanwhile (${way})`, async () => {
      verifies("PEER-031", "PEER-043", "DRC-060");
      await opened(way);
      const message = target.message();
      for (const state of ["gone", "unavailable"] as const) {
        target.authority.state = state;
        await isDenied(deliverOperation(message));
        await isDenied(target.receiptOperation(message));
      }
      target.authority.state = "granted";
      const release = await target.group.permit.acquireRead();
      const waiting = target.ask(deliverOperation(message));
      await new Promise((resolve) => setImmediate(resolve));
      target.authority.state = "gone";
      release();
      assert.equal(refused(await waiting), "connect_peer_denied");
      assert.equal(target.messages().length, 0);
    });

    it(`get no catalog when their grant ended while they waited for their turn (${way})`, async () => {
      verifies("PEER-031", "DRC-060");
      await opened(way);
      const release = await target.group.permit.acquireRead();
      const deliveries = [target.message(), target.message()].map((message) =>
        target.ask(deliverOperation(message)),
      );
      const waiting = target.catalog();
      await new Promise((resolve) => setImmediate(resolve));
      target.authority.state = "gone";
      release();
      for (const denied of await Promise.all(deliveries))
        assert.equal(refused(denied), "connect_peer_denied");
      await assert.rejects(waiting, /connect_peer_denied/);
    });
  }

  for (const way of ["external", "direct"] as const) {
    it(`of a pair reach its two Groups in their generations alone (${way})`, async () => {
      verifies("PEER-017", "PEER-032", "DRC-001", "DRC-037", "DRC-055");
      await opened(way);
      const another = await target.home.group("ann");
      const message = target.message();
      const recipients = [
        { ...target.recipient("ann"), generation: target.home.registry.get(another).actor("ann").generation },
      ];
      await isDenied(
        deliverOperation({ ...message, target: { ...message.target, group_id: another }, recipients }),
      );
      await isDenied(deliverOperation({ ...message, source: { ...message.source, group_id: "g_other" } }));
      await isDenied({ ...target.receiptOperation(message), target_group_id: another });
      await isDenied({ ...target.receiptOperation(message), source_group_id: "g_other" });
      await target.home.call("group_reset", { group_id: target.group_id, confirm: target.group_id });
      await isDenied(deliverOperation(message));
      await isDenied(target.receiptOperation(message));
      await target.home.call("group_delete", { group_id: target.group_id, confirm: target.group_id });
      await assert.rejects(target.ask(target.receiptOperation(message)), DENIED);
    });
  }

  it("of Direct come over their own channel, and the others over none", async () => {
    verifies("PEER-057");
    await opened("direct");
    const request = () => target.request(deliverOperation(target.message()));
    const { receiver, arrival } = target;
    assert.ok(arrival.via === "direct");
    await assert.rejects(receiver.receive(request(), WEB), DENIED);
    const channel = { ...arrival, connection_id: `direct-${randomUUID()}` };
    await assert.rejects(receiver.receive(request(), channel), DENIED);
    const stranger = { ...arrival, instance_id: (await newIdentity()).instance_id };
    await assert.rejects(receiver.receive(request(), stranger), DENIED);
    const account = await Target.open("account", target.home);
    const over = {
      via: "direct" as const,
      connection_id: arrival.connection_id,
      instance_id: account.peer.instance_id,
    };
    const wrong = account.receiver.receive(account.request(deliverOperation(account.message())), over);
    await assert.rejects(wrong, DENIED);
  });

  it("tell nobody why they fail; the log knows, without anything of the message", async () => {
    await opened("account");
    const reasons = new Set<string>();
    const operation = deliverOperation(target.message({ text: "a secret text" }));
    for (const changes of [{ lifetime: 2 * MINUTE }, { signer: await newIdentity() }]) {
      await assert.rejects(target.ask(operation, changes), (error: Refusal) => {
        reasons.add(JSON.stringify(error.body()));
        return true;
      });
    }
    assert.equal(reasons.size, 1);
    assert.equal(target.home.log.lines.length, 2);
    assert.ok(!JSON.stringify(target.home.log.lines).includes("secret"));
  });

  it("count once: a request id is refused within 90 seconds, and forgotten then", async () => {
    await opened("account");
    const requestId = randomUUID();
    const operation = deliverOperation(target.message());
    await target.ask(operation, { request_id: requestId });
    await assert.rejects(target.ask(operation, { request_id: requestId }), refusal("connect_replayed"));
    const undashed = requestId.replaceAll("-", "").toUpperCase();
    await assert.rejects(target.ask(operation, { request_id: undashed }), refusal("connect_replayed"));
    target.home.clock.advance(LIMITS.connect.seenSeconds * 1000);
    const result = await target.ask(operation, { request_id: requestId });
    assert.ok(result.ok && (result.result as { duplicate?: boolean }).duplicate);
    assert.equal(target.messages().length, 1);
  });

  it("work two at a time for one peer, a few more wait, the rest is turned away; others go on", async () => {
    await opened("account");
    const other = await Target.open("account", target.home);
    const release = await target.group.permit.acquireRead();
    const held = Array.from({ length: 6 }, () => target.ask(deliverOperation(target.message())));
    await new Promise((resolve) => setImmediate(resolve));
    await assert.rejects(target.ask(deliverOperation(target.message())), refusal("overloaded"));
    await other.deliver(other.message());
    release();
    for (const answer of await Promise.all(held)) assert.ok(answer.ok);
    await target.deliver(target.message());
    assert.equal(target.messages().length, 7);
  });

  it("are answered while the daemon still runs; afterwards nobody is", async () => {
    await opened("account");
    const release = await target.group.permit.acquireRead();
    const waiting = target.ask(deliverOperation(target.message()));
    await new Promise((resolve) => setImmediate(resolve));
    const closed = target.receiver.close();
    await assert.rejects(target.ask(deliverOperation(target.message())), refusal("shutting_down"));
    release();
    assert.ok((await waiting).ok);
    await closed;
  });

  it("with anything bent in them are never answered by a signature, nor recorded", async () => {
    verifies("PEER-004", "PEER-005", "PEER-006", "PEER-052");
    await opened("account");
    const operation = deliverOperation(target.message({ text: "whole" }));
    const paths = pathsOf(target.request(operation));
    const junk = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.constant(null),
      fc.boolean(),
      fc.constant([]),
      fc.constant({}),
    );
    const bent = fc.record({
      path: fc.constantFrom(...paths),
      how: fc.oneof(
        fc.record({ kind: fc.constant("replace" as const), value: junk }),
        fc.record({ kind: fc.constant("remove" as const) }),
        fc.record({ kind: fc.constant("add" as const), name: fc.string(), value: junk }),
        fc.record({ kind: fc.constant("touch" as const), at: fc.nat() }),
      ),
    });
    await fc.assert(
      fc.asyncProperty(bent, async ({ path, how }) => {
        const whole = target.request(operation);
        const copy = structuredClone(whole) as unknown as Record<string, unknown>;
        bend(copy, path, how);
        if (JSON.stringify(copy) === JSON.stringify(whole)) return;
        const parsed = ConnectPeerEnvelope.safeParse(copy);
        // What a transport wouldn't even pass on.
        if (!parsed.success) return;
        // Other spellings of what stays the same are the same request.
        if (JSON.stringify(parsed.data) === JSON.stringify(whole)) return;
        await assert.rejects(target.receiver.receive(parsed.data, WEB), (error: unknown) => {
          assert.ok(error instanceof Refusal, String(error));
          return true;
        });
        assert.equal(target.messages().length, 0);
      }),
      { numRuns: 400 },
    );
    assert.ok((await target.ask(operation)).ok);
  });
});

type Bend =
  | { kind: "replace"; value: unknown }
  | { kind: "remove" }
  | { kind: "add"; name: string; value: unknown }
  | { kind: "touch"; at: number };

/** Every place in a JSON value. */
function pathsOf(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [path];
  const below = Object.entries(value).flatMap(([name, member]) => pathsOf(member, [...path, name]));
  return path.length === 0 ? below : [path, ...below];
}

function bend(root: Record<string, unknown>, path: readonly string[], how: Bend): void {
  const last = path.at(-1)!;
  let parent = root;
  for (const name of path.slice(0, -1)) parent = parent[name] as Record<string, unknown>;
  const value = parent[last];
  if (how.kind === "replace") parent[last] = how.value;
  else if (how.kind === "remove") delete parent[last];
  else if (how.kind === "add" && typeof value === "object" && value !== null) {
    (value as Record<string, unknown>)[how.name] = how.value;
  } else if (how.kind === "touch" && typeof value === "string" && value !== "") {
    const at = how.at % value.length;
    parent[last] = `${value.slice(0, at)}${value[at] === "0" ? "1" : "0"}${value.slice(at + 1)}`;
  }
}
