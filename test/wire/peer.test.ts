import assert from "node:assert/strict";
import * as fc from "fast-check";
import { operationDigest, sha256Hex } from "../../daemon/peers/wire/digests.ts";
import { signStatement } from "../../daemon/peers/wire/statements.ts";
import { LIMITS } from "../../shared/limits.ts";
import { parseStrictJson, StrictJsonError } from "../../shared/strict-json.ts";
import { bindingProblem, blobSetProblem } from "../../shared/wire/v1/binding.ts";
import {
  CatalogPage,
  ConnectPeerAuthorization,
  ConnectPeerEnvelope,
  ConnectPeerOperation,
  ConnectPeerResponse,
  connectionOf,
  groupsOf,
  ReceiptResult,
} from "../../shared/wire/v1/peer.ts";
import { isPassing, PEER_REFUSALS } from "../../shared/wire/v1/refusals.ts";
import { requestStatement, responseStatement, type Unsigned } from "../../shared/wire/v1/signing.ts";
import {
  untimelyFrame,
  untimelyGroupCheck,
  untimelyIdentity,
  untimelyRegistration,
  untimelyRequest,
  untimelyTicket,
} from "../../shared/wire/v1/timely.ts";
import { verifies } from "../requirements.ts";
import { ada, authorization, bob, DIRECT_ID, EXTERNAL_ID, type Kind, message, operations } from "./sample.ts";

const KINDS: Kind[] = ["account", "external", "direct"];
const taken = (value: unknown) => ConnectPeerOperation.safeParse(value).success;

describe("ConnectPeerOperation", () => {
  it("is one of four, written in declared order", () => {
    verifies("PEER-004", "PEER-006", "PEER-052", "DRC-079", "DRC-080");
    for (const kind of KINDS)
      for (const [op, operation] of Object.entries(operations(kind))) {
        const written = JSON.stringify(ConnectPeerOperation.parse(operation));
        assert.match(written, new RegExp(`^\\{"op":"${op}",`, "u"));
        assert.equal(written, JSON.stringify(operation));
      }
    for (const op of ["exec", "svc_message_send", "history", "", undefined, "__proto__"]) {
      assert.ok(!taken({ ...operations().receipt, op }), String(op));
    }
  });

  it("refuses fields that it doesn't know, and misses each that it needs", () => {
    verifies("PEER-005", "PEER-009", "PEER-011", "PEER-013");
    const optional = ["connection_id", "target_group_id", "after"];
    for (const operation of Object.values(operations("external"))) {
      assert.ok(!taken({ ...operation, extra: null }));
      for (const name of Object.keys(operation)) {
        const { [name as "op"]: _, ...rest } = operation;
        const needed = operation.op === "catalog" ? !optional.includes(name) : name !== "connection_id";
        if (needed) assert.ok(!taken(rest), `${operation.op} without ${name}`);
      }
    }
  });

  it("catalog: names no target and no cursor when it leaves them out", () => {
    verifies("PEER-007", "PEER-016", "PEER-017");
    assert.deepEqual(ConnectPeerOperation.parse({ op: "catalog", source_group_id: "" }), {
      op: "catalog",
      source_group_id: "",
      target_group_id: null,
      after: null,
    });
    for (const connectionId of [DIRECT_ID, EXTERNAL_ID]) {
      const whole = {
        op: "catalog",
        connection_id: connectionId,
        source_group_id: "a",
        target_group_id: "b",
      };
      assert.ok(taken(whole));
      assert.ok(!taken({ ...whole, source_group_id: "" }));
      assert.ok(!taken({ ...whole, target_group_id: null }));
      assert.ok(!taken({ ...whole, target_group_id: "" }));
    }
  });

  it("deliver: carries files by digest, at most 16", () => {
    const blob = { sha256: "0".repeat(64), base64: "AA==" };
    const deliver = (blobs: unknown) => taken({ op: "deliver", message: message(), blobs });
    assert.ok(deliver([blob]));
    assert.ok(!deliver(undefined));
    assert.ok(!deliver([{ sha256: blob.sha256 }]));
    assert.ok(!deliver([{ ...blob, sha256: "0" }]));
    assert.ok(!deliver(Array.from({ length: 17 }, () => blob)));
    const longest = Buffer.alloc(LIMITS.connect.blobBytes).toString("base64");
    assert.ok(deliver([{ ...blob, base64: longest }]));
    assert.ok(!deliver([{ ...blob, base64: `${longest}AAAA` }]));
  });

  it("deliver: has the digest of its JSON, however large its files are, and lets others have their turn meanwhile", async () => {
    verifies("PROOF-011");
    const base64 = Buffer.alloc(3 * 1024 * 1024, "svc").toString("base64");
    const blobs = [
      { sha256: "0".repeat(64), base64 },
      { sha256: "1".repeat(64), base64: "" },
      { sha256: "2".repeat(64), base64: 'not "base64" \u0001 at é all' },
      { sha256: "3".repeat(64), base64: "AA==" },
    ];
    const deliver: ConnectPeerOperation = { op: "deliver", message: message(), blobs };
    let turns = 0;
    const count = (): void => {
      turns++;
      turn = setImmediate(count);
    };
    let turn = setImmediate(count);
    const digest = await operationDigest(deliver);
    clearImmediate(turn);
    assert.equal(digest, sha256Hex(JSON.stringify(deliver)));
    assert.ok(turns > 0);
    assert.notEqual(await operationDigest({ ...deliver, blobs: blobs.toReversed() }), digest);
  });

  it("says which connection and which Groups it is for", () => {
    verifies("EXT-058");
    for (const kind of KINDS)
      for (const operation of Object.values(operations(kind))) {
        assert.equal(connectionOf(operation), authorization(kind).connection_id);
        assert.deepEqual(groupsOf(operation), { source: "g_0123456789ab", target: "g_ba9876543210" });
      }
  });
});

describe("ConnectPeerAuthorization", () => {
  const sign = (fields: Unsigned<ConnectPeerAuthorization>) => signStatement(requestStatement, ada, fields);
  const signature = Buffer.alloc(64).toString("base64");
  const accepted = (fields: object) => ConnectPeerAuthorization.safeParse({ ...fields, signature }).success;

  it("has the fields of its kind of connection, the connection first and the signature last", () => {
    verifies("PROOF-011", "PROOF-013", "DRC-022", "PEER-005");
    for (const kind of KINDS) {
      const proof = sign(authorization(kind));
      const names = Object.keys(proof);
      assert.equal(names.at(-1), "signature");
      assert.equal(
        names[0],
        { account: "account_origin", external: "connection_id", direct: "connection_id" }[kind],
      );
      assert.ok(!accepted({ ...authorization(kind), extra: 1 }));
      for (const name of Object.keys(authorization(kind))) {
        const { [name as "request_id"]: _, ...rest } = authorization(kind);
        if (name !== "connection_id" || kind === "direct")
          assert.ok(!accepted(rest), `${kind} without ${name}`);
        else
          assert.notDeepEqual(
            requestStatement.material(rest as never),
            requestStatement.material(authorization(kind)),
          );
      }
    }
    assert.ok(!accepted({ ...authorization("direct"), account_id: "acct_7" }));
    assert.ok(!accepted({ ...authorization(), connection_id: DIRECT_ID }));
    assert.ok(!accepted({ ...authorization(), connection_id: null }));
  });

  it("has a UUID for its request", () => {
    verifies("PROOF-012");
    assert.ok(accepted({ ...authorization(), request_id: "0b7e6a525d4c4c6e9a51d0c5b1f1a006" }));
    assert.ok(!accepted({ ...authorization(), request_id: "request-1" }));
  });

  it("fits the operation it comes with, or what doesn't is named", () => {
    verifies("EXT-061");
    for (const kind of KINDS)
      for (const operation of Object.values(operations(kind))) {
        const proof = sign(authorization(kind));
        assert.equal(bindingProblem(proof, operation), null);
        assert.ok(ConnectPeerEnvelope.safeParse({ proof, operation }).success);
        for (const other of KINDS.filter((name) => name !== kind)) {
          assert.match(bindingProblem(sign(authorization(other)), operation) ?? "", /connection/u);
        }
        const elsewhere = { ...proof, connection_id: "99999999-2222-4333-8444-555555555555" };
        assert.match(bindingProblem(elsewhere, operation) ?? "", /another connection/u);
        assert.match(
          bindingProblem({ ...proof, target_instance_id: proof.source_instance_id }, operation) ?? "",
          /the same instance/u,
        );
        if (operation.op === "catalog" || operation.op === "receipt") continue;
        const turned = {
          ...proof,
          source_instance_id: proof.target_instance_id,
          target_instance_id: proof.source_instance_id,
        };
        assert.match(bindingProblem(turned, operation) ?? "", /another instance/u);
        if (kind === "direct") continue;
        for (const name of [
          "source_device_id",
          "target_device_id",
          "account_id",
          "account_origin",
        ] as const) {
          assert.notEqual(bindingProblem({ ...proof, [name]: "other" }, operation), null, name);
        }
      }
  });
});

describe("blobs of a message", () => {
  it("are those of its attachments, each once", () => {
    const file = (digit: string) => ({ sha256: digit.repeat(64), bytes: 1, name: "a", mime_type: "b" });
    const blob = (digit: string) => ({ sha256: digit.repeat(64), base64: "AA==" });
    const whole = { ...message(), attachments: [file("0"), file("1"), file("0")] };
    assert.equal(blobSetProblem(whole, [blob("1"), blob("0")]), null);
    assert.equal(blobSetProblem(message(), []), null);
    for (const blobs of [[], [blob("0")], [blob("0"), blob("2")], [blob("0"), blob("1"), blob("2")]])
      assert.match(blobSetProblem(whole, blobs) ?? "", /don't match/u);
    assert.match(blobSetProblem(whole, [blob("0"), blob("1"), blob("0")]) ?? "", /twice/u);
  });
});

describe("ConnectPeerResponse", () => {
  const request = { request_id: EXTERNAL_ID, request_sha256: "0".repeat(64) };

  it("carries a result or an error, and refuses what it doesn't know", () => {
    verifies("PEER-025");
    const signed = signStatement(responseStatement, bob, {
      ...request,
      result: { ok: true, result: { receipt: null } },
    });
    assert.deepEqual(Object.keys(signed), ["request_id", "request_sha256", "result", "signature"]);
    const accepted = (result: unknown) => ConnectPeerResponse.safeParse({ ...signed, result }).success;
    assert.ok(accepted({ ok: true, result: { anything: ["goes", { here: 1 }] } }));
    assert.ok(accepted({ ok: false, error: { code: "io_error", message: "😀".repeat(1024) } }));
    assert.ok(!accepted({ ok: false, error: { code: "io_error", message: "x".repeat(1025) } }));
    assert.ok(!accepted({ ok: false, error: { code: "io_error", message: "x", details: {} } }));
    assert.ok(!accepted({ ok: false, error: { code: "", message: "x" } }));
    assert.ok(!accepted({ ok: true, error: { code: "io_error", message: "x" } }));
    assert.ok(!accepted({ ok: true, result: null, extra: 1 }));
    assert.ok(!accepted({ ok: false }));
    assert.ok(!accepted({ ok: true }));
    assert.ok(!ConnectPeerResponse.safeParse({ ...signed, extra: 1 }).success);
  });

  it("has inner results of its own", () => {
    verifies("CAT-004", "CAT-005");
    assert.ok(ReceiptResult.safeParse({ receipt: null }).success);
    assert.ok(ReceiptResult.safeParse({ receipt: null, duplicate: false }).success);
    assert.ok(!ReceiptResult.safeParse({}).success);
    assert.ok(!ReceiptResult.safeParse({ receipt: null, extra: 1 }).success);

    const actor = { id: "codex", title: "", generation: "one", enabled: true, role: null };
    const group = (index: number) => ({
      group_id: `g${String(index).padStart(3, "0")}`,
      title: "",
      actors: [actor],
    });
    const groups = Array.from({ length: 65 }, (_, index) => group(index));
    const page = (value: object) => CatalogPage.safeParse(value).success;
    assert.ok(page({ groups: groups.slice(1), next: "g064" }));
    assert.ok(!page({ groups, next: null }));
    assert.ok(!page({ groups: [group(2), group(1)], next: null }));
    assert.ok(!page({ groups: [group(1), group(1)], next: null }));
    assert.ok(!page({ groups: [] }));
    for (const wrong of [{ generation: "" }, { id: "user" }, { enabled: 1 }, { role: "boss" }])
      assert.ok(
        !page({ groups: [{ ...group(1), actors: [{ ...actor, ...wrong }] }], next: null }),
        JSON.stringify(wrong),
      );
    // A page may say more, and nothing of it is kept.
    const more = {
      groups: [{ ...group(1), actors: [{ ...actor, path: "/x" }], env: {} }],
      next: null,
      extra: 1,
    };
    assert.deepEqual(CatalogPage.parse(more), { groups: [group(1)], next: null });
  });
});

describe("members of an operation that come twice", () => {
  it("never reach a schema", () => {
    verifies("PEER-005");
    const written = JSON.stringify(operations().receipt);
    assert.ok(taken(parseStrictJson(written)));
    assert.throws(() => parseStrictJson(written.replace("{", '{"op":"receipt",')));
  });
});

describe("proofs in time", () => {
  const now = Date.parse("2026-03-01T10:00:00.000Z");
  const at = (milliseconds: number) => new Date(now + milliseconds).toISOString();
  const between = (issued: number, expires: number) => ({ issued_at: at(issued), expires_at: at(expires) });
  const cases = [
    { name: "a peer request lives 60 s", seconds: 60, check: untimelyRequest },
    { name: "a frame proof lives 120 s", seconds: 120, check: untimelyFrame },
    { name: "a selection ticket lives 24 h", seconds: 86_400, check: untimelyTicket },
  ] as const;
  for (const { name, seconds, check } of cases) {
    it(`${name}, from a clock at most 30 s ahead`, () => {
      verifies("PROOF-009", "PROOF-010", "PROOF-018", "PROOF-019", "LIM-059");
      const judge = (issued: number, expires: number) => check(between(issued, expires) as never, now);
      assert.equal(judge(0, seconds * 1000), null);
      assert.match(judge(0, seconds * 1000 + 1) ?? "", /more than/u);
      assert.equal(judge(29_000, 30_000), null);
      assert.equal(judge(30_000, 31_000), null);
      assert.match(judge(31_000, 32_000) ?? "", /future/u);
      assert.equal(judge(-seconds * 1000 + 1, 1), null);
      assert.match(judge(-seconds * 1000, 0) ?? "", /expired/u);
      assert.match(judge(0, 0) ?? "", /before/u);
      assert.match(judge(1000, 500) ?? "", /before/u);
    });
  }

  it("an answer to a challenge lives 30 s, by a clock at most 30 s ahead", () => {
    for (const check of [untimelyIdentity, untimelyGroupCheck]) {
      const judge = (expires: number) => check({ expires_at: at(expires) } as never, now);
      assert.equal(judge(1), null);
      assert.equal(judge(60_000), null);
      assert.match(judge(60_001) ?? "", /more than/u);
      assert.match(judge(0) ?? "", /expired/u);
    }
  });

  it("a registration is from within 120 s, either way", () => {
    const judge = (issued: number) => untimelyRegistration({ issued_at: at(issued) } as never, now);
    for (const issued of [-120_000, 0, 120_000]) assert.equal(judge(issued), null);
    for (const issued of [-120_001, 120_001]) assert.match(judge(issued) ?? "", /current/u);
  });
});

describe("refusals between instances", () => {
  it("are another family than those of operations: two pass, one waits, every other is final", () => {
    const bySender = (sender: string) =>
      Object.entries(PEER_REFUSALS)
        .filter(([, entry]) => entry.sender === sender)
        .map(([code]) => code);
    assert.deepEqual(bySender("retries"), ["io_error", "connect_peer_denied"]);
    assert.deepEqual(bySender("waits"), ["connect_original_pending"]);
    for (const code of ["io_error", "connect_peer_denied"]) assert.ok(isPassing(code));
    for (const code of [
      ...bySender("waits"),
      ...bySender("gives up"),
      "of_another_kind",
      "toString",
      "__proto__",
    ])
      assert.ok(!isPassing(code), code);
    for (const [code, { sentence }] of Object.entries(PEER_REFUSALS)) {
      const error = { code, message: sentence };
      const response = {
        request_id: EXTERNAL_ID,
        request_sha256: "0".repeat(64),
        result: { ok: false as const, error },
      };
      assert.doesNotThrow(() => signStatement(responseStatement, bob, response), code);
    }
  });
});

describe("any text a peer may send", () => {
  it("is refused in order, or taken and written the same way for ever", () => {
    const texts = KINDS.flatMap((kind) =>
      Object.values(operations(kind)).map((operation) => JSON.stringify(operation)),
    );
    const piece = fc.oneof(
      fc.constantFrom(
        "null",
        '""',
        "0",
        "-1",
        "1e400",
        "{}",
        "[]",
        '"user"',
        '"\\ud800"',
        '"__proto__":1,',
        ",",
        "}",
        "direct-",
      ),
      fc.string({ maxLength: 5 }),
    );
    const edit = fc.record({ at: fc.nat(), cut: fc.nat(30), piece });
    fc.assert(
      fc.property(fc.constantFrom(...texts), fc.array(edit, { maxLength: 3 }), (text, edits) => {
        let changed = text;
        for (const { at, cut, piece: put } of edits) {
          const from = at % changed.length;
          changed = (changed.slice(0, from) + put + changed.slice(from + cut)).slice(0, 10_000) || "0";
        }
        let value: unknown;
        try {
          value = parseStrictJson(changed);
        } catch (error) {
          assert.ok(error instanceof StrictJsonError);
          return;
        }
        const parsed = ConnectPeerOperation.safeParse(value);
        if (!parsed.success) return;
        const written = JSON.stringify(parsed.data);
        assert.equal(JSON.stringify(ConnectPeerOperation.parse(parseStrictJson(written))), written);
      }),
      { numRuns: 2000 },
    );
  });

  it("or values of any kind in any place, never more than refused", () => {
    const places = (value: unknown): string[][] =>
      typeof value === "object" && value !== null
        ? Object.entries(value).flatMap(([name, member]) => [
            [name],
            ...places(member).map((rest) => [name, ...rest]),
          ])
        : [];
    const put = (value: unknown, [name, ...rest]: string[], member: unknown): unknown => {
      if (name === undefined) return member;
      const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Record<
        string,
        unknown
      >;
      copy[name] = put(copy[name], rest, member);
      return copy;
    };
    const proof = { ...authorization("direct"), signature: Buffer.alloc(64).toString("base64") };
    const whole = { proof, operation: operations("direct").deliver };
    const place = fc.constantFrom(...places(whole));
    fc.assert(
      fc.property(place, fc.jsonValue(), (path, member) => {
        const changed = JSON.parse(JSON.stringify(put(whole, path, member))) as unknown;
        const parsed = ConnectPeerEnvelope.safeParse(changed);
        if (parsed.success) assert.deepEqual(parsed.data, changed);
        else assert.ok(parsed.error.issues.length > 0);
      }),
      { numRuns: 1000 },
    );
  });
});
