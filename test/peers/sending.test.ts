import assert from "node:assert/strict";
import {
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import type { OpenFile } from "../../platform/files.ts";
import { RealProjectFiles } from "../../platform/real-project-files.ts";
import type { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import { BROWSER, refusal } from "../messaging/setting.ts";
import { verifies } from "../requirements.ts";
import { USER } from "../support/services.ts";
import { DOWN, UP } from "./memory-transport.ts";
import { MINUTE, Pair, rest, SECOND } from "./sending-setting.ts";

/**
 * Projects whose files are longer than they said when they were opened; counts what is read of
 * them.
 */
class GrowingFiles extends RealProjectFiles {
  /** Size that every file claims; null for the truth. */
  told: number | null = null;
  read = 0;

  override openBelow(...asked: Parameters<RealProjectFiles["openBelow"]>): OpenFile {
    const file = super.openBelow(...asked);
    const read = file.read.bind(file);
    const size = file.size.bind(file);
    file.size = () => this.told ?? size();
    file.read = (buffer, position) => {
      const got = read(buffer, position);
      this.read += got;
      return got;
    };
    return file;
  }
}

describe("connect_send", () => {
  let pair: Pair;
  beforeEach(async () => {
    pair = await Pair.open("direct");
  });
  afterEach(() => pair.close());

  it("answers the same key with the first message, whatever became of it", async () => {
    verifies("MSG-056", "MSG-057", "MSG-058");
    const { here, there } = pair;
    here.transport.wire = DOWN;
    const first = await pair.send({ client_id: "once" });
    assert.deepEqual(await pair.send({ client_id: "once" }), first);
    await assert.rejects(pair.send({ client_id: "once", text: "other" }), refusal("idempotency_conflict"));
    await assert.rejects(
      pair.send({ client_id: "once", target_group_id: "g_elsewhere" }),
      refusal("idempotency_conflict"),
    );
    here.transport.wire = UP;
    await pair.ended(here);
    const again = await pair.send({ client_id: "once" });
    assert.deepEqual(again, { ...first, queued: false, delivery_state: "sent" });
    await assert.rejects(pair.send({ client_id: "once", to: ["cat"] }), refusal("idempotency_conflict"));
    assert.equal(there.messages().length, 1);
    // The key belongs to who gave it.
    assert.notEqual(
      (await pair.send({ client_id: "once" }, here.actor("ann"))).delivery_id,
      first.delivery_id,
    );
  });

  it("never sends again what it lost without a receipt: nobody knows what became of it", async () => {
    verifies("MSG-059", "MSG-060");
    const { here } = pair;
    here.transport.wire = DOWN;
    const first = await pair.send({ client_id: "lost" });
    await rest();
    await here.close();
    for (const path of here.outboxFiles()) unlinkSync(path);
    await here.open(here.home.root);
    here.start();
    here.transport.seen.length = 0;
    here.transport.wire = UP;
    const again = await pair.send({ client_id: "lost" });
    assert.deepEqual(again, { ...first, queued: false, delivery_state: "unconfirmed" });
    await pair.pass(2 * MINUTE, 5 * SECOND);
    assert.deepEqual(here.transport.ops(), []);
    assert.equal((await here.delivery(first.source_event.id))?.state, "unconfirmed");
  });

  it("tells a Group that the other instance doesn't list from one that isn't known yet", async () => {
    await pair.close();
    pair = await Pair.open("account");
    await assert.rejects(pair.send({ target_group_id: "g_000000000bad" }), (error: Refusal) => {
      assert.equal(error.code, "connect_not_granted");
      assert.match(error.message, /lists no such Group.*svc connect/u);
      return true;
    });
    await pair.close();
    pair = await Pair.open("account", { learnt: false });
    pair.here.files.slow = "/catalog/";
    await assert.rejects(pair.send(), refusal("connect_catalog_unavailable"));
    pair.here.files.recover();
    assert.equal(pair.here.outbox.size, 0);
  });

  it("makes aliases and titles concrete Actors of the other Group", async () => {
    verifies("MSG-007", "MSG-051", "MSG-053", "MSG-022");
    const { here, there } = pair;
    here.transport.wire = DOWN;
    const recipients = async (...to: string[]) => {
      const { source_event: sourceEvent } = await pair.send({ to });
      return sourceEvent.data.dst_to;
    };
    assert.deepEqual(await recipients("@all"), ["bob", "cat"]);
    assert.deepEqual(await recipients("@peers"), ["cat"]);
    assert.deepEqual(await recipients("@foreman", "cat"), ["bob", "cat"]);
    assert.deepEqual(await recipients("user"), ["user"]);
    await assert.rejects(pair.send({ to: ["ann"] }), refusal("invalid_recipient"));
    await assert.rejects(pair.send({ to: ["user", "bob"] }), refusal("mixed_recipient_kinds"));
    await assert.rejects(
      pair.send({ to: ["user"], message_mode: "mail" }),
      refusal("mail_requires_actor_recipient"),
    );
    await assert.rejects(pair.send({ text: "" }), refusal("invalid_args"));
    await assert.rejects(
      pair.send({ to: Array.from({ length: 129 }, (_, at) => `a${at}`) }),
      refusal("invalid_args"),
    );
    await there.home.call("group_update", { group_id: there.group_id, title: "Renamed" });
    here.transport.wire = UP;
    await pair.ended(here, 4);
    assert.equal(there.messages().length, 4);
  });

  it("takes recipients as a message within the other Group would", async () => {
    verifies("MSG-051");
    const { here, there } = pair;
    here.transport.wire = DOWN;
    await there.home.call("actor_update", { group_id: there.group_id, actor_id: "bob", title: "Bob B." });
    await there.home.call("actor_update", { group_id: there.group_id, actor_id: "cat", title: "Café" });
    here.transport.wire = UP;
    await pair.eventually(() => {
      const found = here.peers.handlers().connect_catalog(
        {
          group_id: here.group_id,
          instance_id: there.instance_id,
          target_group_id: there.group_id,
          limit: 20,
        },
        { caller: USER, signal: new AbortController().signal },
      ) as { catalog?: { groups: { actors: { title: string }[] }[] } };
      return found.catalog?.groups[0]?.actors.some(({ title }) => title === "Bob B.") === true;
    });
    here.transport.wire = DOWN;
    type Mode = "send" | "request_reply" | "mail";
    const outcome = (sent: Promise<unknown>): Promise<unknown> =>
      sent.catch((error: unknown) => (error as Refusal).code);
    const name = fc.constantFrom(
      "user",
      "bob",
      "cat",
      "@all",
      "@peers",
      "@foreman",
      "Bob B.",
      " bob b. ",
      "CAFÉ",
      "Cafe\u0301",
      "nobody",
      "ann",
      "USER",
      "@nobody",
      "constructor",
      "__proto__",
    );
    const cases = fc.record({
      to: fc.array(name, { maxLength: 4 }),
      message_mode: fc.constantFrom<Mode>("send", "request_reply", "mail"),
    });
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        const within = there.home.send(there.group_id, "x", given);
        const across = pair.send(given);
        const local = await outcome(within.then(({ event }) => event.data.to));
        const remote = await outcome(across.then(({ source_event: sourceEvent }) => sourceEvent.data.dst_to));
        assert.deepEqual(remote, local, JSON.stringify(given));
      }),
      {
        numRuns: 60,
        examples: [
          [{ to: ["user", "user"], message_mode: "send" }],
          [{ to: ["user", "user"], message_mode: "mail" }],
          [{ to: ["user", "bob"], message_mode: "send" }],
          [{ to: ["bob", "bob"], message_mode: "send" }],
        ],
      },
    );
  });

  it("takes a caller's own name and no other", async () => {
    verifies("MSG-042", "MSG-039");
    const { here } = pair;
    here.transport.wire = DOWN;
    assert.equal((await pair.send({ by: "user" })).source_event.by, "user");
    assert.equal((await pair.send({ by: "ann" }, here.actor("ann"))).source_event.by, "ann");
    await assert.rejects(pair.send({ by: "ann" }), refusal("permission_denied"));
    await assert.rejects(pair.send({ by: "user" }, here.actor("ann")), refusal("permission_denied"));
    await assert.rejects(pair.send({ by: "nobody" }), refusal("permission_denied"));
  });

  it("refuses an address that isn't whole, and never takes it for a local message", async () => {
    verifies("ERR-001", "ERR-002", "ERR-003", "ERR-004", "ERR-016");
    const { here, there } = pair;
    const other = await here.home.group("zoe");
    await assert.rejects(pair.send({ instance_id: "" }), refusal("connect_instance_required"));
    await assert.rejects(pair.send({ instance_id: "", target_group_id: "" }), refusal("invalid_args"));
    await assert.rejects(
      pair.send({ instance_id: "nonsense" }),
      refusal("invalid_args", { field: "instance_id" }),
    );
    await assert.rejects(pair.send({ target_group_id: "a/b" }), refusal("invalid_args"));
    await assert.rejects(pair.send({ target_group_id: "g_unknown" }), refusal("connect_not_granted"));
    await assert.rejects(pair.send({ target_group_id: "" }), (error) => {
      refusal("connect_target_group_required")(error);
      const { external_groups: externalGroups } = (
        error as { details: { external_groups: { group_id: string }[] } }
      ).details;
      assert.deepEqual(
        externalGroups.map(({ group_id: groupId }) => groupId),
        [there.group_id],
      );
      return true;
    });
    await assert.rejects(
      pair.send({ group_id: other, target_group_id: "" }),
      refusal("connect_target_group_required", { external_groups: [] }),
    );
    assert.deepEqual(here.messages(), []);
    assert.deepEqual(here.outboxFiles(), []);
  });

  it("waits for nobody but its own Group", async () => {
    verifies("MSG-043", "MSG-044");
    const { here } = pair;
    const other = await here.home.group("zoe");
    const release = await here.home.registry.get(other).permit.acquireWrite();
    here.transport.wire = () => new Promise(() => {});
    assert.equal((await pair.send()).accepted, true);
    release();
  });

  it("takes its own Group's permit, alone", async () => {
    verifies("MSG-043");
    const { here } = pair;
    const { permit } = here.group;
    for (const taken of ["acquireRead", "acquireWrite"] as const) {
      const release = await permit[taken]();
      let isDone = false;
      const sending = pair.send({ client_id: taken }).then(() => (isDone = true));
      await rest();
      assert.equal(isDone, false, `it waits for ${taken}`);
      assert.deepEqual(here.outboxFiles(), []);
      release();
      await sending;
      await pair.ended(here);
    }
  });

  it("records what it accepted even when the ledger fails at that moment", async () => {
    verifies("OUT-020", "OUT-021");
    const { here, there } = pair;
    const { ledger } = here.group;
    const appendAll = ledger.appendAll.bind(ledger);
    let refusals = 1;
    ledger.appendAll = (events) => {
      if (refusals === 0) return appendAll(events);
      refusals -= 1;
      return Promise.reject(new Error("the disk said no"));
    };
    const { source_event: sourceEvent, delivery_state: deliveryState } = await pair.send();
    assert.equal(deliveryState, "queued");
    await pair.ended(here);
    assert.deepEqual(here.messages(), [sourceEvent]);
    assert.equal(there.messages().length, 1);
  });

  it("recovers after a crash between acceptance and ledger, once", async () => {
    verifies("OUT-021");
    const { here, there } = pair;
    const { ledger } = here.group;
    ledger.appendAll = () => Promise.reject(new Error("crashed"));
    here.transport.wire = DOWN;
    const { source_event: sourceEvent } = await pair.send();
    await rest();
    assert.deepEqual(here.messages(), []);
    await here.restart();
    assert.deepEqual(here.messages(), [sourceEvent]);
    here.transport.wire = UP;
    await pair.ended(here);
    assert.equal(here.messages().length, 1);
    assert.equal(there.messages().length, 1);
  });

  it("finishes after a restart what it had ended, without another word to the peer", async () => {
    verifies("OUT-034", "OUT-035", "EVT-003", "OUT-024");
    const { here } = pair;
    here.transport.wire = DOWN;
    const { source_event: sourceEvent } = await pair.send({}, here.actor("ann"));
    await rest();
    const kept = here.outboxFiles().map((path) => [path, readFileSync(path)] as const);
    const { ledger } = here.group;
    const appendAll = ledger.appendAll.bind(ledger);
    // The disk fails as the message ends.
    ledger.appendAll = () => Promise.reject(new Error("the disk said no"));
    await pair.pass(16 * MINUTE, 5 * SECOND);
    assert.equal(here.outboxFiles().length, 1);
    ledger.appendAll = appendAll;
    await pair.ended(here);
    assert.equal(here.notices().length, 1);
    // A crash brings the record back that was just removed.
    await here.close();
    for (const [path, bytes] of kept) writeFileSync(path, bytes, { mode: 0o600 });
    await here.open(here.home.root);
    here.transport.seen.length = 0;
    here.transport.wire = UP;
    here.start();
    await pair.eventually(() => here.outboxFiles().length === 0);
    assert.equal(here.receipts().length, 1);
    assert.equal(here.notices().length, 1);
    assert.deepEqual(here.transport.ops(), []);
    assert.equal((await here.delivery(sourceEvent.id))?.state, "failed");
  });

  it("shows how a message fares beside the event, which stays as it is", async () => {
    verifies("OUT-014", "OUT-015", "OUT-013");
    const { here } = pair;
    here.transport.wire = DOWN;
    const { source_event: sourceEvent } = await pair.send();
    const shown = async (withObligationStatus: boolean) => {
      const { events } = await here.home.call("ledger_tail", {
        group_id: here.group_id,
        kinds: ["chat.message"],
        with_obligation_status: withObligationStatus,
      });
      return events[0] as unknown as Record<string, unknown>;
    };
    assert.deepEqual((await shown(true))["_connect_delivery"], { state: "queued" });
    assert.deepEqual(await shown(false), sourceEvent);
    here.transport.wire = UP;
    await pair.ended(here);
    assert.equal(((await shown(true))["_connect_delivery"] as { state: string }).state, "sent");
    assert.equal((await shown(true))["_connect_cancellation"], null);
    assert.deepEqual(await shown(false), sourceEvent);
  });
});

describe("connect_send_files", () => {
  let pair: Pair;
  let folder: string;
  beforeEach(async () => {
    pair = await Pair.open("direct");
    folder = mkdtempSync(join(tmpdir(), "svc-project-"));
    await pair.here.home.call("attach", { group_id: pair.here.group_id, path: folder });
    pair.here.transport.wire = DOWN;
  });
  afterEach(async () => {
    await pair.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const files = (clientId: string, paths: string[], more = {}) =>
    pair.here.home.call(
      "connect_send_files",
      {
        group_id: pair.here.group_id,
        instance_id: pair.there.instance_id,
        target_group_id: pair.there.group_id,
        client_id: clientId,
        paths,
      },
      more,
    );

  it("takes 1 to 16 files of the attached scope, and none from outside", async () => {
    verifies("MSG-046", "MSG-063");
    const names = Array.from({ length: 17 }, (_, at) => `file-${at}`);
    for (const name of names) writeFileSync(join(folder, name), name);
    await assert.rejects(files("none", []), refusal("invalid_args"));
    await assert.rejects(files("many", names), refusal("invalid_args"));
    const sent = await files("sixteen", names.slice(0, 16));
    assert.equal((sent.source_event.data.attachments as unknown[]).length, 16);
    const outside = join(pair.here.home.root, "outside");
    writeFileSync(outside, "secret");
    symlinkSync(outside, join(folder, "link"));
    await assert.rejects(files("outside", [outside]), refusal("invalid_path"));
    await assert.rejects(files("link", ["link"]), refusal("invalid_path"));
    await assert.rejects(files("up", ["../outside"]), refusal("invalid_path"));
  });

  it("reads in the active project alone, and counts relative paths from it", async () => {
    verifies("MSG-062");
    const { home, group_id: groupId } = pair.here;
    const other = realpathSync(mkdtempSync(join(tmpdir(), "svc-project-")));
    try {
      const { scope_key: scopeKey } = await home.call("attach", { group_id: groupId, path: other });
      writeFileSync(join(folder, "note"), "of the first project");
      writeFileSync(join(other, "note"), "of the active one");
      const first = home.registry.get(groupId).record.active_scope_key!;
      const textOf = async (key: string, path: string, as?: Caller): Promise<unknown> => {
        const { source_event: sourceEvent } = await files(key, [path], as === undefined ? {} : { as });
        return (await home.call("file_fetch", { group_id: groupId, event_id: sourceEvent.id })).text;
      };
      assert.equal(await textOf("before", "note"), "of the first project");
      await assert.rejects(files("not yet", [join(other, "note")]), refusal("invalid_path"));
      await home.call("group_update", { group_id: groupId, active_scope_key: scopeKey });
      assert.equal(await textOf("relative", "note"), "of the active one");
      assert.equal(await textOf("absolute", join(other, "note")), "of the active one");
      await assert.rejects(files("elsewhere", [join(folder, "note")]), refusal("invalid_path"));
      // An Actor's own project is where its process works.
      await home.call("actor_update", { group_id: groupId, actor_id: "ann", scope_key: first });
      assert.equal(await textOf("own", "note", pair.here.actor("ann")), "of the first project");
      assert.equal(await textOf("active", "note", pair.here.actor("ben")), "of the active one");
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  });

  it("reads 10 MiB of all files together and one byte more, also of those that grow meanwhile", async () => {
    verifies("MSG-061");
    const { here } = pair;
    const { root } = here.home;
    const projects = new GrowingFiles(root);
    here.projects = projects;
    await here.close();
    await here.open(root);
    here.start();
    const limit = LIMITS.connect.blobBytes;
    for (const [name, bytes] of [
      ["half", limit / 2],
      ["rest", limit / 2],
      ["over", limit / 2 + 1],
      ["huge", 1024 * 1024 * 1024],
    ] as const) {
      writeFileSync(join(folder, name), "");
      truncateSync(join(folder, name), bytes);
    }
    const waiting = here.records().length;
    for (const told of [null, 100]) {
      projects.told = told;
      for (const paths of [["huge"], ["half", "over"], ["half", "huge"]]) {
        projects.read = 0;
        await assert.rejects(files(`${told} ${paths.join()}`, paths), refusal("invalid_attachments"));
        assert.equal(projects.read, told === null ? 0 : limit + 1, paths.join());
      }
      projects.read = 0;
      await files(`${told} whole`, ["half", "rest"]);
      assert.equal(projects.read, limit);
    }
    assert.equal(here.records().length, waiting + 2);
  });

  it("finds its first answer before it looks at the files again", async () => {
    verifies("MSG-064");
    writeFileSync(join(folder, "gone"), "soon");
    const first = await files("key", ["gone"]);
    unlinkSync(join(folder, "gone"));
    assert.deepEqual(await files("key", ["gone"]), first);
    await assert.rejects(files("new key", ["gone"]), refusal("invalid_path"));
  });

  it("names no file of this machine for a browser", async () => {
    writeFileSync(join(folder, "a"), "a");
    await assert.rejects(pair.send({ paths: [join(folder, "a")] }, BROWSER), refusal("invalid_path"));
  });
});
