/** The tools against a real daemon, called by the SDK's client. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verifies } from "../requirements.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { Peer, type Taken } from "./peer.ts";

describe("MCP tools", () => {
  let daemon: DaemonProcess;
  let groupId: string;
  let project: string;
  let ada: Peer;
  let max: Peer;
  let maxTokenFile: string;

  before(async () => {
    daemon = await DaemonProcess.started();
    const user = daemon.client();
    project = realpathSync(mkdtempSync(join(tmpdir(), "svc-mcp-")));
    writeFileSync(join(project, "notes.txt"), "a note\n");
    groupId = (await user.result("group_create", { title: "MCP" })).group_id;
    const { scope_key: scopeKey } = await user.result("attach", { path: project, group_id: groupId });
    const first = await user.result("actor_add", {
      group_id: groupId,
      actor_id: "ada",
      title: "Ada",
      scope_key: scopeKey,
    });
    const second = await user.result("actor_add", {
      group_id: groupId,
      actor_id: "max",
      title: "Max",
      scope_key: scopeKey,
    });
    maxTokenFile = second.token_file;
    ada = await Peer.connected(daemon, first.token_file);
    max = await Peer.connected(daemon, maxTokenFile);
  });
  after(async () => {
    await ada.close();
    await max.close();
    await daemon.dispose();
    rmSync(project, { recursive: true, force: true });
  });

  /** The newest chat messages of the ledger. */
  async function messages(limit = 50) {
    const { events } = await daemon
      .client()
      .result("ledger_tail", { group_id: groupId, kinds: ["chat.message"], limit });
    return events;
  }

  it("tells an Actor where it is", async () => {
    const here = (await ada.result("svc_bootstrap")) as {
      group: { group_id: string; project_root: string };
      me: { id: string; role: string };
      actors: { id: string }[];
    };
    assert.equal(here.group.group_id, groupId);
    assert.equal(here.group.project_root, project);
    assert.equal(here.me.id, "ada");
    assert.equal(here.me.role, "foreman");
    assert.deepEqual(
      here.actors.map(({ id }) => id),
      ["ada", "max"],
    );
  });

  it("carries a conversation: request, wait, reply, Mail, file", async () => {
    const asked = await ada.result("svc_message_send", {
      to: ["max"],
      message_mode: "request_reply",
      text: "What now?",
    });
    const question = (asked["event"] as { id: string }).id;
    const taken = (await max.result("svc_inbox_read", { wait_seconds: 10 })) as unknown as Taken;
    assert.equal(taken.messages[0]?.event.id, question);
    assert.equal(taken.messages[0]?.delivery, "direct");
    assert.ok(taken.batch_id);

    const waiting = ada.result("svc_inbox_read", { wait_seconds: 10 });
    const replied = await max.result("svc_message_reply", {
      event_id: question,
      message_mode: "send",
      text: "This.",
    });
    const got = (await waiting) as unknown as Taken;
    assert.equal(got.messages[0]?.event.id, (replied["event"] as { id: string }).id);

    const sent = await max.result("svc_file_send", { to: ["ada"], paths: ["notes.txt"], text: "my notes" });
    const mail = (await ada.result("svc_inbox_read", {
      wait_seconds: 10,
      ack: got.batch_id,
    })) as unknown as Taken;
    assert.equal(mail.messages[0]?.delivery, "mail");
    const file = await ada.result("svc_file", {
      event_id: (sent["event"] as { id: string }).id,
      save_to: "copy.txt",
    });
    assert.equal(file["text"], "a note\n");
    assert.equal(readFileSync(join(project, "copy.txt"), "utf8"), "a note\n");

    const { statuses } = await daemon
      .client()
      .result("ledger_statuses", { group_id: groupId, event_ids: [question] });
    assert.equal(statuses[question]?.obligation_status["max"]?.state, "replied");
    const history = (await max.result("svc_message_history", { mode: "received" })) as {
      events: { id: string }[];
    };
    assert.ok(history.events.some(({ id }) => id === question));
  });

  it("sends Mail unless told otherwise", async () => {
    const sent = await ada.result("svc_message_send", { to: ["max"], text: "for later" });
    assert.equal(sent["message_mode"], "mail");
  });

  it("sends what is for the person alone, since the person gets no Mail", async () => {
    for (const to of [["user"], ["user", "user"]]) {
      const sent = await ada.result("svc_message_send", { to, text: "for you" });
      assert.equal(sent["message_mode"], "send");
      const files = await ada.result("svc_file_send", { to, paths: ["notes.txt"] });
      assert.equal(files["message_mode"], "send");
    }
    const mail = await ada.tool("svc_message_send", { to: ["user"], text: "x", message_mode: "mail" });
    assert.equal(mail.error.code, "mail_requires_actor_recipient");
    const both = await ada.tool("svc_message_send", { to: ["user", "max"], text: "x" });
    assert.equal(both.error.code, "mixed_recipient_kinds");
  });

  it("makes one message of one idempotency key, and two without one", async () => {
    verifies("MCP-008", "MCP-009");
    const keyed = { to: ["max"], text: "once", idempotency_key: "key-1" };
    const first = await ada.result("svc_message_send", keyed);
    const again = await ada.result("svc_message_send", keyed);
    assert.equal((again["event"] as { id: string }).id, (first["event"] as { id: string }).id);
    assert.equal(again["duplicate"], true);
    const event = first["event"] as { data: { client_id: string } };
    assert.equal(event.data.client_id, "key-1");

    const unkeyed = { to: ["max"], text: "twice" };
    const one = await ada.result("svc_message_send", unkeyed);
    const two = await ada.result("svc_message_send", unkeyed);
    assert.notEqual((one["event"] as { id: string }).id, (two["event"] as { id: string }).id);
    assert.match((one["event"] as { data: { client_id: string } }).data.client_id, /^[0-9a-f-]{36}$/);
  });

  it("shows a file of the project in a slot once for one idempotency key, lists it, and empties the slot", async () => {
    const given = {
      action: "publish",
      slot: 2,
      title: "Notes",
      kind: "markdown",
      path: "notes.txt",
      idempotency_key: "shown-1",
    };
    const first = await ada.result("svc_presentation", given);
    const again = await ada.result("svc_presentation", given);
    assert.deepEqual([first["duplicate"], again["duplicate"]], [false, true]);
    assert.deepEqual(again["presentation"], first["presentation"]);
    const { event_id: eventId, bytes } = first["presentation"] as { event_id: string; bytes: number };
    assert.equal(bytes, "a note\n".length);
    const { events } = await daemon
      .client()
      .result("ledger_tail", { group_id: groupId, kinds: ["presentation.publish"], limit: 5 });
    assert.deepEqual(
      events.map(({ id, by, data }) => [id, by, (data as { client_id?: string }).client_id]),
      [[eventId, "ada", "shown-1"]],
    );
    // Without an action it lists.
    const shown = async () => {
      const { slots } = (await ada.result("svc_presentation")) as {
        slots: { slot: number; presentation: { event_id: string } | null }[];
      };
      return slots.map(({ presentation }) => presentation?.event_id ?? null);
    };
    assert.deepEqual(await shown(), [null, eventId, null, null]);
    const cleared = await ada.result("svc_presentation", { action: "clear", slot: 2 });
    assert.deepEqual(cleared, { slot: 2, cleared: true });
    assert.deepEqual(await shown(), [null, null, null, null]);
    const wrong = await ada.tool("svc_presentation", { action: "clear", slot: 2, path: "notes.txt" });
    assert.deepEqual([wrong.error.code, wrong.error.details.field], ["invalid_args", "path"]);
  });

  it("refuses a remote address instead of delivering locally", async () => {
    verifies("MCP-010");
    const before = await messages();
    for (const [address, code, field] of [
      [{ dst_instance_id: "" }, "invalid_args", "dst_instance_id"],
      [{ dst_instance_id: "nonsense", dst_group_id: groupId }, "invalid_args", "dst_instance_id"],
      [{ dst_group_id: groupId }, "connect_instance_required", undefined],
    ] as const) {
      const answer = await ada.tool("svc_message_send", { to: ["max"], text: "far away", ...address });
      assert.equal(answer.isError, true);
      assert.deepEqual([answer.error.code, answer.error.details.field], [code, field]);
    }
    assert.deepEqual(await messages(), before);
  });

  it("names the wrong argument by the name that the agent knows", async () => {
    for (const [name, input, field] of [
      ["svc_message_send", { to: ["max"], text: "x", message_mode: "shout" }, "message_mode"],
      ["svc_message_send", { to: ["max"], text: "x", idempotency_key: "" }, "idempotency_key"],
      ["svc_message_send", { to: "max", text: "x" }, "to"],
      ["svc_message_send", { text: "x", local_group_id: "here" }, "local_group_id"],
      ["svc_message_deliver", { event_id: "x", actor_ids: ["max"] }, "event_id"],
      ["svc_message_reply", { text: "x" }, "event_id"],
      ["svc_inbox_read", { wait_seconds: "long" }, "wait_seconds"],
      ["svc_actor", { action: "dance" }, "action"],
      ["svc_actor", { action: "show" }, "actor_id"],
      ["svc_actor", { action: "list", actor_id: "max" }, "actor_id"],
      ["svc_bootstrap", { group_id: groupId }, "group_id"],
    ] as const) {
      const answer = await ada.tool(name, input);
      assert.equal(answer.isError, true, `${name} ${JSON.stringify(input)}`);
      assert.equal(answer.error.details.field, field, answer.text);
      assert.ok(answer.error.message.includes(`'${field}'`), answer.error.message);
    }
  });

  it("clamps a long wait instead of refusing it", async () => {
    const waiting = ada.tool("svc_inbox_read", { wait_seconds: 5000 });
    await daemon.client().result("send", { group_id: groupId, to: ["ada"], text: "now" });
    assert.equal((await waiting).ok, true);
  });

  it("reaches another Group of the Home by an argument of its own", async () => {
    const user = daemon.client();
    const other = (await user.result("group_create", { title: "Other" })).group_id;
    await user.result("actor_add", { group_id: other, actor_id: "zoe" });
    const sent = await ada.result("svc_message_send", {
      local_group_id: other,
      to: ["zoe"],
      text: "hello over there",
    });
    assert.equal((sent["event"] as { group_id: string }).group_id, other);
    assert.equal((sent["source_event"] as { group_id: string }).group_id, groupId);
  });

  it("lets the foreman add Actors, and answers a file but never the token", async () => {
    const added = await ada.result("svc_actor", { action: "add", actor_id: "new", title: "New" });
    const path = added["token_file"] as string;
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const { token } = JSON.parse(readFileSync(path, "utf8")) as { token: string };
    assert.ok(token.length > 20);
    assert.ok(!JSON.stringify(added).includes(token));
    const refused = await max.tool("svc_actor", { action: "add", actor_id: "other" });
    assert.equal(refused.error.code, "permission_denied");
    const removed = await ada.result("svc_actor", { action: "remove", actor_id: "new" });
    assert.equal((removed["actor"] as { id: string }).id, "new");
  });

  it("shows the Group and withdraws a request", async () => {
    const shown = (await max.result("svc_group")) as { group_id: string };
    assert.equal(shown.group_id, groupId);
    const listed = (await max.result("svc_group", { action: "list" })) as { groups: { group_id: string }[] };
    assert.deepEqual(
      listed.groups.map((group) => group.group_id),
      [groupId],
    );
    const asked = await ada.result("svc_message_send", {
      to: ["max"],
      message_mode: "request_reply",
      text: "Never mind?",
    });
    const { cancelled } = (await ada.result("svc_reply_request_cancel", {
      event_id: (asked["event"] as { id: string }).id,
    })) as { cancelled: string[] };
    assert.deepEqual(cancelled, ["max"]);
  });

  it("keeps the token out of arguments and what others may see", () => {
    const { token } = JSON.parse(readFileSync(maxTokenFile, "utf8")) as { token: string };
    for (const what of ["cmdline", "environ"])
      assert.ok(!readFileSync(`/proc/${max.pid}/${what}`, "utf8").includes(token));
    assert.ok(!readFileSync(join(daemon.home, "daemon", "log"), "utf8").includes(token));
  });
});
