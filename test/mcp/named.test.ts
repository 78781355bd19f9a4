/** `svc mcp --as NAME`: the Actor of the folder's Group, without a token in any configuration. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DaemonClient } from "../../client/client.ts";
import { AGENT_CLIENTS, type AgentSteps } from "../../shared/agent-clients.ts";
import { ENVIRONMENT } from "../../shared/names.ts";
import { envelope, NOWHERE, run } from "../cli/svc.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { Peer } from "./peer.ts";

describe("svc mcp --as", () => {
  let daemon: DaemonProcess;
  let user: DaemonClient;
  let folder: string;
  let groupId: string;
  let others: string;
  let otherToken: string;
  const peers: Peer[] = [];

  const path = (name: string) => join(folder, name);
  const connected = async (args: readonly string[], cwd: string, environment = {}): Promise<Peer> => {
    const peer = new Peer({ [ENVIRONMENT.home]: daemon.home, ...environment }, args, cwd);
    peers.push(peer);
    await peer.connect();
    return peer;
  };
  const presence = async () =>
    (await user.result("actor_show", { group_id: groupId, actor_id: "claude" })).actor.presence;
  const me = async (peer: Peer) =>
    (await peer.result("svc_bootstrap")) as { me: { id: string }; group: { group_id: string } };

  before(async () => {
    daemon = await DaemonProcess.started();
    user = daemon.client();
    folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-named-")));
    for (const name of ["shop/src", "blog", "shared"]) mkdirSync(path(name), { recursive: true });
    groupId = (await user.result("attach", { path: path("shop") })).group_id;
    others = (await user.result("attach", { path: path("blog") })).group_id;
    for (const group of [groupId, others])
      await user.result("attach", { path: path("shared"), group_id: group });
    await user.result("actor_add", { group_id: groupId, actor_id: "claude", runner: "external" });
    await user.result("actor_add", {
      group_id: groupId,
      actor_id: "worker",
      runner: "pty",
      command: ["true"],
    });
    const added = await user.result("actor_add", { group_id: others, actor_id: "claude" });
    otherToken = added.token_file;
  });
  afterEach(async () => {
    for (const peer of peers.splice(0)) await peer.close();
  });
  after(async () => {
    await daemon.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  it("acts as the Actor of the Group of the folder above, which people see as connected", async () => {
    assert.equal((await presence()).reason, "not connected");
    const peer = await connected(["--as", "claude"], path("shop/src"));
    await until("it is shown as connected", async () => (await presence()).reason === "connected");
    const here = await me(peer);
    assert.deepEqual([here.me.id, here.group.group_id], ["claude", groupId]);
    await peer.close();
    await until("it is shown as gone", async () => (await presence()).reason === "not connected");
  });

  it("takes the folder or the Group that is named, and the one of the environment", async () => {
    for (const [args, environment] of [
      [["--as", "claude", "--folder", path("shop")], {}],
      [["--as", "claude", "--group", "shop"], {}],
      [["--as", "claude"], { [ENVIRONMENT.group]: groupId }],
    ] as const) {
      const peer = await connected(args, tmpdir(), environment);
      assert.equal((await me(peer)).group.group_id, groupId);
    }
  });

  it("says in the tool's answer what is missing, and finds it once it is there", async () => {
    for (const [args, cwd, words] of [
      [["--as", "claude"], tmpdir(), /belongs to no Group.*svc attach/],
      [["--as", "claude"], path("shared"), /belongs to 2 Groups.*--group/],
      [["--as", "claude", "--folder", path("gone")], tmpdir(), /There is no folder/],
      [["--as", "worker"], path("shop"), /svc itself runs worker/],
    ] as const) {
      const { isError, text } = await (await connected(args, cwd)).tool("svc_bootstrap");
      assert.ok(isError);
      assert.match(text, words);
    }
    const peer = await connected(["--as", "late"], path("shop"));
    assert.equal((await peer.tool("svc_bootstrap")).error.code, "actor_not_found");
    await user.result("actor_add", { group_id: groupId, actor_id: "late", runner: "external" });
    assert.equal((await me(peer)).me.id, "late");
  });

  it("leaves an agent that svc started the Actor that it is", async () => {
    const peer = await connected(["--as", "worker"], path("shop"), { [ENVIRONMENT.actorFile]: otherToken });
    assert.deepEqual((await me(peer)).group.group_id, others);
  });

  it("is what each agent's steps say, without a token or, in a project, a path", async () => {
    for (const { id, owner } of AGENT_CLIENTS) {
      const args = ["actor", "mcp-config", "claude", "--group", groupId, "--for", id, "--json"];
      const ran = await run(args, { home: daemon.home });
      const { file, snippet, command, environment } = envelope<AgentSteps>(ran).result;
      const words = snippet.replaceAll(/\s+/g, " ");
      assert.match(words, /"mcp", "--as", "claude"/);
      assert.equal(words.includes(daemon.home), owner === "person", id);
      assert.equal(environment !== null, owner === "project");
      assert.ok(command === null || command.includes("mcp --as claude"));
      assert.ok(!words.includes("token") && !file.startsWith("/"));
    }
    const shown = await run(["actor", "mcp-config", "claude", "--group", groupId, "--for", "claude"], {
      home: daemon.home,
    });
    assert.match(shown.out, /claude mcp add --scope project svc -- svc mcp --as claude\n/);
  });

  it("refuses a place without a name", async () => {
    const { code, err } = await run(["mcp", "--folder", folder], { home: NOWHERE });
    assert.equal(code, 2);
    assert.match(err, /--as/);
  });
});
