/** Terminals whose program doesn't read its input, floods, or ends in between. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LIMITS } from "../../shared/limits.ts";
import { until } from "../support/until.ts";
import { Setting } from "./setting.ts";
import { TerminalClient } from "./terminal-client.ts";

const MIB = 1024 * 1024;
/** Megabytes through a terminal, on a busy machine. */
const LONG = 300_000;
const PIECE = 16 * 1024;
const RAW = "stty raw -echo";
const PASTE = ["\u001b[200~", "\u001b[201~"] as const;

describe("a terminal whose program doesn't read", () => {
  let setting: Setting;
  before(async () => (setting = await Setting.open()));
  after(() => setting.close());

  const read = (name: string): string => (existsSync(file(name)) ? readFileSync(file(name), "utf8") : "");
  const file = (name: string): string => join(setting.project, name);

  /** An Actor that runs this script, and its writer. */
  async function started(actorId: string, script: string, more = {}): Promise<TerminalClient> {
    await setting.client.result("actor_add", {
      group_id: setting.group_id,
      actor_id: actorId,
      runner: "pty",
      command: ["/bin/sh", "-c", script],
      ...more,
    });
    await setting.startActor(actorId);
    const { token } = await setting.client.result("access_token_create", { name: actorId });
    const origin = setting.daemon.webOrigin!.replace("http", "ws");
    const url = `${origin}/api/v1/groups/${setting.group_id}/actors/${actorId}/term`;
    const viewer = await new TerminalClient(url, { authorization: `Bearer ${token}` }).opened();
    await viewer.shows("ready");
    viewer.send({ type: "take" });
    return viewer;
  }

  function type(viewer: TerminalClient, text: string): void {
    for (let at = 0; at < text.length; at += PIECE)
      viewer.send({ type: "input", data: text.slice(at, at + PIECE) });
  }

  const stuck = (viewer: TerminalClient) => viewer.message("input", ({ unread }) => unread > 0);
  const row = async (actorId: string): Promise<string> => (await setting.presence(actorId)).reason;
  const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

  it("keeps a paste of 10 MB, says so, and passes all of it on once the program reads", async () => {
    const script = `${RAW}; echo ready; until [ -e go ]; do sleep 0.1; done; head -c ${10 * MIB} | sha256sum > sum; sleep 1000`;
    const viewer = await started("late", script);
    const text = "0123456789abcdef".repeat((10 * MIB) / 16);
    type(viewer, text);
    await stuck(viewer);
    await until("its row says so", async () =>
      /^hasn't read (9\.\d|10) MiB of its input$/.test(await row("late")),
    );
    writeFileSync(file("go"), "");
    const sum = await until("it has read everything", () => read("sum") || null, LONG);
    assert.equal(sum.split(" ")[0], digest(text));
    await viewer.message("input", (message) => message.unread === 0);
    await until("its row says nothing of it any more", async () => !/input/.test(await row("late")));
    viewer.close();
  });

  it("takes no more than the limit, refuses the rest of that paste, and ends it for the program", async () => {
    const script = `${RAW}; echo ready; until [ -e go2 ]; do sleep 0.1; done; cat > read`;
    const viewer = await started("full", script);
    const { unreadBytes } = LIMITS.terminal;
    type(viewer, `${PASTE[0]}${"x".repeat(unreadBytes + 4 * MIB)}${PASTE[1]}`);
    const { error } = await viewer.message("error");
    assert.equal(error.code, "overloaded");
    assert.match(error.message, /left 1[56][.\d]* MiB of its input unread\. This was not added/);
    await stuck(viewer);
    writeFileSync(file("go2"), "");
    const isRead = () => viewer.messages.some((message) => message.type === "input" && message.unread === 0);
    await until("it has read what was taken", isRead, LONG);
    type(viewer, "later");
    await until("it reads what comes later", () => read("read").endsWith("later"));
    const [begin, ...rest] = read("read").split(/x+/);
    assert.equal(begin, PASTE[0]);
    assert.equal(rest.join(""), `${PASTE[1]}later`);
    viewer.close();
  });

  it("interrupts its foreground at Ctrl-C, which would only be one more byte behind the others", async () => {
    const script = `${RAW}; trap 'exit 7' INT; echo ready; while :; do sleep 0.1; done`;
    const viewer = await started("deaf", script);
    type(viewer, "x".repeat(MIB));
    await stuck(viewer);
    viewer.send({ type: "input", data: "\u0003" });
    assert.equal((await viewer.message("ended")).reason, "exited with code 7");
    viewer.close();
  });

  it("interrupts it from the command line as well, and says so where the key means nothing to the system", async () => {
    const custom = await started(
      "custom",
      `${RAW}; trap 'exit 7' INT; echo ready; while :; do sleep 0.1; done`,
    );
    type(custom, "x".repeat(MIB));
    await stuck(custom);
    const at = (actorId: string) => ({ group_id: setting.group_id, actor_id: actorId });
    await setting.client.result("actor_interrupt", at("custom"));
    assert.equal((await custom.message("ended")).reason, "exited with code 7");
    const claude = await started("named", `${RAW}; echo ready; sleep 1000`, { runtime: "claude" });
    type(claude, "x".repeat(MIB));
    await stuck(claude);
    const refused = await setting.client.call("actor_interrupt", at("named"));
    assert.ok(!refused.ok);
    assert.equal(refused.error.code, "overloaded");
    assert.match(refused.error.message, /wouldn't read the key either/);
    custom.close();
    claude.close();
  });

  it("says at its end what was never read", async () => {
    const viewer = await started("gone", `${RAW}; echo ready; until [ -e go3 ]; do sleep 0.1; done; exit 4`);
    type(viewer, "x".repeat(2 * MIB));
    await stuck(viewer);
    writeFileSync(file("go3"), "");
    const { reason } = await viewer.message("ended");
    assert.match(reason, /^exited with code 4; it never read (1\.9|2)[.\d]* MiB of its input$/);
    assert.equal(await row("gone"), reason);
    viewer.close();
  });

  it("is still a terminal: a program that is stopped or reads a byte at a time, sizes, and a line that is too long", async () => {
    const slow = await started(
      "slow",
      `${RAW}; echo ready; while dd bs=1 count=1 2>/dev/null; do sleep 1; done`,
    );
    const stopped = await started("stopped", `${RAW}; echo ready; kill -STOP $$; sleep 1000`);
    const cooked = await started("cooked", "echo ready; sleep 1000");
    for (const viewer of [slow, stopped, cooked]) type(viewer, "y".repeat(MIB));
    await Promise.all([stuck(slow), stuck(stopped)]);
    for (let columns = 20; columns < 220; columns += 1) slow.send({ type: "resize", columns, rows: 20 });
    await slow.message("size", ({ columns }) => columns === 219);
    await Promise.all(
      ["slow", "stopped", "cooked"].map((actor_id) =>
        setting.client.result("actor_stop", { group_id: setting.group_id, actor_id }),
      ),
    );
    for (const viewer of [slow, stopped, cooked]) {
      assert.match((await viewer.message("ended")).reason, /^stopped/);
      viewer.close();
    }
  });

  it("has a message that it never got whole again at its next start", async () => {
    const asks = `${RAW}; printf '\\033[?2004hready'`;
    const script = `if [ -e second ]; then ${asks}; cat > message; else ${asks}; touch first; until [ -e second ]; do sleep 0.1; done; fi`;
    const viewer = await started("agent", script, { prompts: true });
    const text = "a sentence of a long message. ".repeat(2000).trimEnd();
    const { id } = await setting.send(text, ["agent"]);
    await until("it is handed over", async () => /hasn't read .* of its input/.test(await row("agent")));
    writeFileSync(file("second"), "");
    await viewer.message("ended");
    assert.notEqual((await setting.status(id, "agent")).state, "ambiguous");
    await setting.startActor("agent");
    await until("it reads all of it", () => read("message").includes(text));
    viewer.close();
  });
});
