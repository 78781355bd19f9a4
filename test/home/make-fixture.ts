/**
 * Makes the frozen Home of a format: `node --import tsx test/home/make-fixture.ts`. Run once per
 * format, through the real daemon; what is in `test/fixtures/homes/<format>/` is never made anew
 * after that version was released.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DaemonClient } from "../../client/client.ts";
import { runDaemon } from "../../daemon/assembly/daemon.ts";
import { HOME_FORMAT } from "../../daemon/home/settings.ts";

/** Short and the same on every machine, since it stands in the files. */
const WORK = "/tmp/svc-fixture";
const home = join(WORK, "home");
const project = join(WORK, "project");
const target = join(import.meta.dirname, "../fixtures/homes", String(HOME_FORMAT));

if (existsSync(target)) throw new Error(`${target} is there already and is never made anew`);
rmSync(WORK, { recursive: true, force: true });
mkdirSync(project, { recursive: true });
writeFileSync(join(project, "notes.md"), "# Notes\n\nA file of the project.\n");

function tokenOf(file: string): string {
  return (JSON.parse(readFileSync(file, "utf8")) as { token: string }).token;
}

const daemon = await runDaemon({ home, host: "127.0.0.1", port: 0 });
const user = new DaemonClient(home, null);
const { group_id: groupId } = await user.result("attach", { path: project });
await user.result("group_update", {
  group_id: groupId,
  title: "Fixture",
  topic: "What an old Home looks like",
});
const lead = await user.result("actor_add", { group_id: groupId, actor_id: "lead", title: "Team lead" });
const ann = await user.result("actor_add", { group_id: groupId, actor_id: "ann", env: { LANG: "C" } });
await user.result("actor_secrets", {
  group_id: groupId,
  actor_id: "ann",
  set: { SERVICE_KEY: "only a fixture" },
});
const asLead = new DaemonClient(home, tokenOf(lead.token_file));
const asAnn = new DaemonClient(home, tokenOf(ann.token_file));

await user.result("send", { group_id: groupId, text: "Good morning, everybody: grüß Gott 👋", to: ["@all"] });
const asked = await user.result("send", {
  group_id: groupId,
  text: "What is left to do?",
  to: ["lead"],
  message_mode: "request_reply",
  client_id: "question-1",
});
await asLead.result("send", {
  group_id: groupId,
  text: "Please look at the notes.",
  to: ["ann"],
  paths: ["notes.md"],
});
await user.result("ledger_compact", { group_id: groupId });
await asAnn.result("inbox_read", { group_id: groupId, limit: 1 });
await asLead.result("reply", { group_id: groupId, event_id: asked.event.id, text: "Only the notes." });
await user.result("send", {
  group_id: groupId,
  text: "Is the fixture done?",
  to: ["ann"],
  message_mode: "request_reply",
});
await user.result("send", { group_id: groupId, text: "For later", to: ["ann"], message_mode: "mail" });
const { id, token } = await user.result("access_token_create", { name: "Browser", groups: [groupId] });

const { events } = await user.result("ledger_tail", { group_id: groupId, limit: 200 });
const status = await user.result("daemon_status", {});
const inbox = await user.result("inbox_peek", { group_id: groupId, actor_id: "ann" });
for (const client of [user, asLead, asAnn]) client.close();
await daemon.stop();

cpSync(home, target, { recursive: true });
rmSync(join(target, "daemon/log"));
const expected = {
  instance_id: status.instance_id,
  group_id: groupId,
  events,
  unread_of_ann: inbox.unread,
  question: { client_id: "question-1", event_id: asked.event.id },
  access_token: { id, token },
};
writeFileSync(`${target}.expected.json`, `${JSON.stringify(expected, null, 2)}\n`);
rmSync(WORK, { recursive: true });
