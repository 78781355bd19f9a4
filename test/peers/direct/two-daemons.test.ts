import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../../demo/free-port.ts";
import { INVISIBLE } from "../../../shared/invisible.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { PRODUCT_VERSION } from "../../../shared/version.ts";
import { parseInvitationText } from "../../../shared/wire/v1/direct.ts";
import { run } from "../../cli/svc.ts";
import { verifies } from "../../requirements.ts";
import { SVC } from "../../support/daemon-process.ts";
import { Terminal } from "../../support/terminal.ts";
import { until } from "../../support/until.ts";
import { connect, online, Side } from "./two-homes.ts";

interface Attached {
  attachments: { name: string; sha256: string; bytes: number }[];
}

describe("two daemons with a Direct connection", function () {
  this.timeout(180_000);
  let host: Side;
  let joiner: Side;
  let id: string;

  before(async () => {
    [host, joiner] = await Promise.all([Side.started("Host"), Side.started("Joiner")]);
    id = await connect(host, joiner);
  });
  after(async () => {
    await Promise.all([host?.dispose(), joiner?.dispose()]);
  });

  it("exchange messages, files and replies both ways, without account, directory, domain or Web token", async () => {
    verifies("DRC-001", "DRC-002", "DRC-003", "DRC-004", "DRC-006", "DRC-049", "CLI-007", "VER-003");
    // What each tells the other of its version; 0.4.40 is the first that can speak like this.
    for (const side of [host, joiner]) {
      const version = (await side.relation(id))!.remote!.client_version;
      assert.equal(version, PRODUCT_VERSION);
      const [major, minor, patch] = version.split(/[.+-]/).map(Number) as [number, number, number];
      assert.ok(major * 1e6 + minor * 1e3 + patch >= 4040, version);
    }
    const there = await joiner.send(host, "first", "Hello over there");
    const { state, remote_event_id: remoteEventId } = await joiner.delivered(there.source_event.id);
    assert.equal(state, "sent");
    const received = (await host.messages()).find((event) => event.id === remoteEventId);
    assert.equal(received?.data["text"], "Hello over there");
    assert.equal(received?.by, `connect:${joiner.instance_id}`);
    assert.deepEqual(received?.data["to"], ["lead"]);
    const arrived = await run(["tail"], { home: host.daemon.home });
    assert.match(
      arrived.out,
      /\[outside, key \w{10}, Direct \w{8}\] a person there in “Joiner” on “.+” → lead {2}/u,
    );
    const left = await run(["tail"], { home: joiner.daemon.home });
    assert.match(left.out, /user → lead · Host at .+ {2}/u);

    const bytes = randomBytes(3 * 1024 * 1024);
    writeFileSync(join(host.project, "picture.bin"), bytes);
    const files = await host.client.result("connect_send_files", {
      group_id: host.group_id,
      instance_id: joiner.instance_id,
      target_group_id: joiner.group_id,
      client_id: "file",
      text: "A picture",
      to: ["lead"],
      paths: [join(host.project, "picture.bin")],
    });
    const file = await host.delivered(files.source_event.id);
    assert.equal(file.state, "sent");
    // What the other side may still write is told, less by what it wrote.
    const { allowance } = (await joiner.relation(id))!;
    assert.ok(allowance !== null && allowance.bytes < LIMITS.connect.quota.bytes - bytes.length / 2);
    const told = await run(["direct", "status"], { home: joiner.daemon.home });
    assert.match(told.out, /takes +\d+ more messages and 409\d MiB from there for now/u);
    const event = (await joiner.messages()).find((one) => one.id === file.remote_event_id);
    assert.ok(event);
    const [attachment] = (event.data as unknown as Attached).attachments;
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    assert.equal(attachment?.sha256, sha256);
    const saved = join(joiner.project, "saved.bin");
    await joiner.svc(["file", file.remote_event_id ?? "", "--save-to", saved]);
    assert.ok(readFileSync(saved).equals(bytes));

    assert.ok(received);
    const lead = host.daemon.actorClient(host.tokenFile);
    const reply = await lead.result("reply", {
      group_id: host.group_id,
      event_id: received.id,
      text: "Hello back",
      client_id: "reply",
    });
    const back = await host.delivered(reply.event.id);
    assert.equal(back.state, "sent");
    const answer = (await joiner.messages()).find((one) => one.id === back.remote_event_id);
    assert.equal(answer?.data["text"], "Hello back");
    assert.equal(answer?.data["reply_to"], there.source_event.id);
    // Accepted isn't sent, and the words don't say so.
    const thanks = await run(["reply", answer?.id ?? "", "Thanks"], { home: joiner.daemon.home });
    assert.match(thanks.out, /^Accepted for lead · Host at .+: [0-9a-f]{32}\n$/u);
  });

  it("go by their names and titles on the command line, wherever their ids are taken", async () => {
    const { name } = (await joiner.relation(id))!.remote!;
    const here = { home: joiner.daemon.home };
    for (const args of [
      ["connect", "--instance", name.toUpperCase(), "--target-group", " host "],
      ["send", "By name", "--dst-instance", name, "--dst-group", "Host", "--to", "lead"],
      ["direct", "approve", id.slice(0, 15)],
      ["direct", "remove", "host"],
    ]) {
      const ran = await run(args, here);
      assert.doesNotMatch(
        ran.err,
        /no active connection|isn't an instance|no such Direct connection/,
        ran.err,
      );
      // These two are understood, and refused for what they are.
      if (args[0] !== "direct") assert.equal(ran.code, 0, `${args.join(" ")}: ${ran.err}`);
    }
    assert.ok((await joiner.messages()).some(({ data }) => data["text"] === "By name"));
    for (const [args, words] of [
      [["send", "x", "--dst-instance", `${name}s`, "--dst-group", "Host"], `Did you mean '${name}'?`],
      [["send", "x", "--dst-instance", name, "--dst-group", "Hots"], "Did you mean 'Host'?"],
      [["send", "x", "--dst-instance", "zzzzzzzzzz", "--dst-group", "Host"], "instance 'zzzzzzzzzz'"],
      [["direct", "revoke", "Hots"], "no such Direct connection"],
    ] as const) {
      const ran = await run(args, here);
      assert.equal(ran.code, 1, ran.err);
      assert.ok(ran.err.includes(words), ran.err);
    }
  });

  it("give each other no way into their Workbenches", async () => {
    verifies("DRC-081");
    const { web_origin: webOrigin } = await host.client.result("daemon_status", {});
    const { token } = await host.client.result("access_token_create", { name: "entry" });
    const ask = (method: "GET" | "POST", path: string, body?: unknown) =>
      fetch(`${webOrigin}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const frameId = randomUUID();
    const { public_key: publicKey } = (await host.relation(id))!.remote!;
    const opened = await ask("POST", "/api/v1/connect/open", {
      instance_id: joiner.instance_id,
      frame_id: frameId,
    });
    assert.ok(opened.status >= 400, `open answers ${opened.status}`);
    const told = await opened.text();
    assert.doesNotMatch(told, /"proof"|"url"/);
    const renewed = await ask("POST", "/api/v1/connect/frame", { frame_id: frameId, public_key: publicKey });
    assert.ok(renewed.status >= 400, `frame answers ${renewed.status}`);
    assert.ok((await ask("GET", `/api/v1/connect/frame?frame_id=${frameId}`)).status >= 400);
    // Nobody's page may hold this one.
    const page = await ask("GET", "/");
    assert.match(page.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
  });

  it("keep a message for a peer that is offline, and deliver it once when it is back", async () => {
    verifies("DRC-061", "DRC-063");
    await host.daemon.stop();
    await joiner.sees("offline", id, (relation) => !relation.online && relation.error !== null);
    const { source_event: sourceEvent } = await joiner.send(host, "offline", "While you were away");
    assert.equal((await joiner.delivery(sourceEvent.id))?.state, "queued");
    const shown = async () => (await run(["show", sourceEvent.id], { home: joiner.daemon.home })).out;
    assert.match(await shown(), /Queued for delivery/u);
    await host.daemon.start();
    assert.equal((await joiner.delivered(sourceEvent.id)).state, "sent");
    assert.match(await shown(), /Delivered/u);
    const texts = (await host.messages()).map((event) => event.data["text"]);
    assert.equal(texts.filter((text) => text === "While you were away").length, 1);
  });

  for (const victim of ["sender", "receiver"] as const) {
    it(`lose nothing and double nothing when the ${victim} is killed in the middle of sending`, async () => {
      const rounds = 3;
      const count = 12;
      const sent: string[] = [];
      for (let round = 0; round < rounds; round += 1) {
        await online(host, joiner, id);
        for (let index = 0; index < count; index += 1) {
          const text = `${victim} ${round} ${index}`;
          const { source_event: sourceEvent } = await joiner.send(host, text, text);
          sent.push(sourceEvent.id);
        }
        const killed = victim === "sender" ? joiner : host;
        await killed.daemon.kill();
        await killed.daemon.start();
      }
      for (const eventId of sent) assert.equal((await joiner.delivered(eventId)).state, "sent");
      const texts = (await host.messages())
        .map((event) => event.data.text)
        .filter((text) => text.startsWith(`${victim} `));
      assert.equal(texts.length, rounds * count);
      assert.equal(new Set(texts).size, rounds * count);
    });
  }

  it("say nothing to each other after a revocation, and know it on both sides", async () => {
    verifies("DRC-019", "DRC-034", "DRC-036", "DRC-060", "DRC-062");
    await online(host, joiner, id);
    await host.svc(["direct", "revoke", id]);
    await assert.rejects(host.send(joiner, "late", "Too late"));
    await joiner.sees("revoked", id, ({ state }) => state === "revoked");
    assert.equal((await joiner.messages()).filter((event) => event.data["text"] === "Too late").length, 0);
    await host.svc(["direct", "remove", id]);
    await joiner.svc(["direct", "remove", id]);
    assert.equal(await host.relation(id), undefined);
    const catalogs = join(host.daemon.home, "state", "connect", "catalog");
    await until("the catalog is gone", () => !readdirSync(catalogs).includes(`${id}.json`));
  });

  it("can connect anew with a new invitation, and part when a Group is deleted", async () => {
    verifies("DRC-035", "DRC-074");
    const again = await connect(host, joiner);
    assert.notEqual(again, id);
    const { source_event: sourceEvent } = await host.send(joiner, "again", "Hello again");
    assert.equal((await host.delivered(sourceEvent.id)).state, "sent");
    await host.svc(["group", "delete", "--group", host.group_id, "--confirm", host.group_id]);
    await joiner.sees("revoked", again, ({ state }) => state === "revoked");
    const stored = readFileSync(join(host.daemon.home, "direct_connections.json"), "utf8");
    assert.deepEqual((JSON.parse(stored) as { relations: unknown[] }).relations, []);
  });
});

describe("svc direct", function () {
  this.timeout(120_000);
  let host: Side;
  let joiner: Side;
  before(async () => {
    [host, joiner] = await Promise.all([Side.started("Host"), Side.started("Joiner")]);
  });
  after(async () => {
    await Promise.all([host?.dispose(), joiner?.dispose()]);
  });

  it("shows both people who it is, which Group, until when, and the same six words", async () => {
    const at = `127.0.0.1:${await freePort()}`;
    const here = { home: host.daemon.home };
    const listening = await run(["direct", "listen", "--bind", at, "--name", "Office"], here);
    assert.match(listening.out, /listening/u);
    const invited = await run(["direct", "invite"], here);
    assert.match(invited.out, /^svc-direct:[\w-]+\n$/u);
    const joined = await run(["direct", "join"], { home: joiner.daemon.home, input: invited.out });
    assert.equal(joined.code, 0);
    const WORDS = /words +((?:[a-z]+ ){5}[a-z]+)/u;
    const words = WORDS.exec(joined.err)?.[1];
    assert.ok(words, joined.err);
    assert.match(joined.err, /Office/u);
    assert.match(joined.err, /“Host” \(g_[0-9a-f]{12}\)/u);
    assert.match(joined.err, /until +\d{4}-/u);
    const id = /direct-[0-9a-f-]{36}/u.exec(joined.out)?.[0] ?? "";
    await host.sees("pending", id, ({ state }) => state === "pending");
    const status = await run(["direct", "status"], here);
    assert.equal(WORDS.exec(status.out)?.[1], words);
    assert.match(status.out, /pending approval/u);
    const approved = await run(["direct", "approve", id], here);
    assert.equal(WORDS.exec(approved.err)?.[1], words);
    assert.match(approved.err, /“Joiner” \(g_/u);
    await online(host, joiner, id);
    assert.match((await run(["direct", "status"], here)).out, /online/u);
  });

  it("never takes an invitation as an argument, and repeats none in an error", async () => {
    verifies("CLI-008");
    const invitation = `svc-direct:${"A".repeat(600)}`;
    for (const args of [
      ["direct", "join", invitation],
      ["direct", invitation],
      ["direct", "join", `--invitation=${invitation}`],
      ["direct", "approve", invitation],
    ]) {
      const ran = await run(args, { home: joiner.daemon.home });
      assert.equal(ran.code, 2);
      assert.ok(!`${ran.out}${ran.err}`.includes("AAAA"), ran.err);
    }
    const wrong = await run(["direct", "join"], { home: joiner.daemon.home, input: invitation });
    assert.equal(wrong.code, 1);
    assert.ok(!`${wrong.out}${wrong.err}`.includes("AAAA"));
  });

  it("lets nothing in an invitation steer the terminal, turn text around or hide, before anything of it was checked", async () => {
    const end = {
      instance_id: "12D3\u001b]0;owned\u0007\u202e",
      public_key: "\u001b[2J",
      name: "Off\u200bice\u2066",
      group_id: "g_\u001b[1A",
      title: "Ti\u2060tle\nwords     abandon\ufeff",
    };
    const claims = { id: "direct-\u001b[2J", address: "a:1", expires_at: "now \u001b[2J", host: end };
    const input = `svc-direct:${Buffer.from(JSON.stringify(claims)).toString("base64url")}`;
    const ran = await run(["direct", "join"], { home: joiner.daemon.home, input });
    assert.equal(ran.code, 1);
    assert.match(ran.err, /12D3\u241b\]0;owned/u);
    assert.match(ran.err, /Off\ufffdice/u);
    for (const line of ran.err.split("\n")) assert.doesNotMatch(line, INVISIBLE);
    assert.equal(ran.err.match(/^words/gmu)?.length, 1);
    assert.match(ran.err, /Copy the whole text/u);
  });

  it("does nothing when its question is left with Ctrl+C or Ctrl+D", async () => {
    const at = `127.0.0.1:${await freePort()}`;
    await host.client.result("connect_direct_configure", { listener: { bind: at, address: at } });
    const { invitation } = await host.client.result("connect_direct_invite", { group_id: host.group_id });
    for (const key of ["\u0003", "\u0004"]) {
      const command = [process.execPath, SVC, "direct", "join"];
      const terminal = new Terminal(command, { env: { SVC_HOME: joiner.daemon.home }, columns: 2000 });
      try {
        await terminal.shows(/press Enter/);
        terminal.type(`${invitation}\r`);
        await terminal.shows(/\[y\/N\]/);
        terminal.type(key);
        assert.equal(await terminal.ended(), 1, terminal.text);
        assert.match(terminal.text, /Nothing was changed/u);
        assert.doesNotMatch(terminal.text, /Error|node:/u);
      } finally {
        terminal.kill();
      }
    }
    const { relations } = await joiner.client.result("connect_direct_status", { group_id: joiner.group_id });
    const { id } = parseInvitationText(invitation)!;
    assert.ok(relations.every((relation) => relation.id !== id));
  });

  it("asks for an address to dial when it listens on all of them", async () => {
    const here = { home: host.daemon.home };
    for (const every of ["0.0.0.0", "[::]", "[0:0::0]"]) {
      const ran = await run(["direct", "listen", "--bind", `${every}:${await freePort()}`], here);
      assert.equal(ran.code, 2);
      assert.match(ran.err, /--address/u);
    }
    const at = `0.0.0.0:${await freePort()}`;
    const ran = await run(["direct", "listen", "--bind", at, "--address", "office.example:9000"], here);
    assert.equal(ran.code, 0, ran.err);
  });

  it("is the person's: no Actor may call any of it", async () => {
    verifies("DRC-043", "DRC-044");
    const lead = host.daemon.actorClient(host.tokenFile);
    const { group_id: groupId } = host;
    const id = "direct-00000000-0000-4000-8000-000000000001";
    const answers = await Promise.all([
      lead.call("connect_direct_status", { group_id: groupId }),
      lead.call("connect_direct_configure", { listener: null }),
      lead.call("connect_direct_invite", { group_id: groupId }),
      lead.call("connect_direct_join", { group_id: groupId, invitation: "x" }),
      lead.call("connect_direct_approve", { group_id: groupId, id }),
      lead.call("connect_direct_revoke", { group_id: groupId, id }),
      lead.call("connect_direct_remove", { group_id: groupId, id }),
    ]);
    for (const answer of answers) assert.equal(!answer.ok && answer.error.code, "permission_denied");
  });
});
