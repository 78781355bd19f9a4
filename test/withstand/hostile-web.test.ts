/** Web pages of others, stolen links, restricted tokens and floods at the Web listener. */

import assert from "node:assert/strict";
import { WebSocket } from "ws";
import type { DaemonClient } from "../../client/client.ts";
import { LIMITS } from "../../shared/limits.ts";
import { API_PREFIX } from "../../shared/names.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { loginCode, redeem, signIn } from "./browser.ts";
import { exchange } from "./raw.ts";
import { Sentinel } from "./sentinel.ts";
import { StreamClient } from "./stream-client.ts";

interface Note {
  type: string;
  id?: string | null;
  group?: { group_id: string };
  event?: { group_id: string };
  error?: { code: string };
}

describe("hostile requests at the Web listener", () => {
  let daemon: DaemonProcess;
  let sentinel: Sentinel;
  let user: DaemonClient;
  let origin: string;
  let host: string;
  let target: { host: string; port: number };
  let administrator: string;

  beforeEach(async () => {
    daemon = await DaemonProcess.started();
    sentinel = await Sentinel.stand(daemon);
    user = daemon.client();
    const status = await user.result("daemon_status", {});
    origin = status.web_origin!;
    ({ host } = new URL(origin));
    target = { host: "127.0.0.1", port: Number(new URL(origin).port) };
    administrator = (await user.result("access_token_create", {})).token;
  });
  afterEach(async () => {
    await sentinel.check();
    await daemon.dispose();
  });

  function get(path: string, headers: Record<string, string> = {}): string {
    const fields = { host, ...headers };
    return `GET ${path} HTTP/1.1\r\n${Object.entries(fields)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("")}\r\n`;
  }

  async function status(request: string): Promise<number> {
    const { statuses } = await exchange(target, [request]);
    return statuses[0] ?? 0;
  }

  it("answers to no Host but its own, whatever the credential", async () => {
    const authorization = `Bearer ${administrator}`;
    const path = `${API_PREFIX}/groups`;
    assert.equal(await status(get(path, { authorization })), 200);
    const port = target.port;
    for (const foreign of [
      "attacker.example",
      `attacker.example:${port}`,
      `127.0.0.1.attacker.example:${port}`,
      `localhost.:${port}`,
      `127.0.0.1:${port + 1}`,
      "127.0.0.1",
      `127.1:${port}`,
      `0.0.0.0:${port}`,
      `2130706433:${port}`,
      `[::ffff:127.0.0.1]:${port}`,
      `user@127.0.0.1:${port}`,
      `127.0.0.1:${port}, attacker.example`,
      `127.0.0.1:0${port}`,
      "",
    ]) {
      for (const at of [path, "/health", "/", "/metrics", "/mcp"]) {
        const answered = await status(get(at, { authorization, host: foreign }));
        assert.ok([400, 421].includes(answered), `${at} at '${foreign}' answers ${answered}`);
      }
    }
    const twice = get(path, { authorization }).replace("\r\n", "\r\nHost: attacker.example\r\n");
    assert.ok([400, 421].includes(await status(twice)));
    const absolute = get(`http://attacker.example${path}`, { authorization });
    assert.notEqual(await status(absolute), 200);
  });

  it("takes no write and no stream from a foreign page", async () => {
    const session = await signIn(user, origin);
    const foreign = [
      "http://attacker.example",
      "null",
      "",
      `http://localhost.attacker.example:${target.port}`,
      `https://${host}`,
      `${origin}.attacker.example`,
      origin.replace(/\d+$/, "1"),
    ];
    for (const from of foreign) {
      const response = await fetch(`${origin}${API_PREFIX}/groups`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          cookie: session.cookie,
          "svc-csrf-token": session.csrf,
          origin: from,
        },
        body: '{"title":"forged"}',
      });
      assert.equal(response.status, 403, `Origin '${from}'`);
      assert.equal(response.headers.get("access-control-allow-origin"), null);
      const opened = await openSocket({ cookie: session.cookie, origin: from });
      assert.equal(opened, null, `WebSocket from '${from}'`);
    }
    for (const headers of [
      { cookie: session.cookie, origin },
      { cookie: session.cookie, origin, "svc-csrf-token": "" },
      { cookie: session.cookie, origin, "svc-csrf-token": session.csrf.slice(0, -1) },
      {
        cookie: `${session.cookie}; ${session.cookie.split("=")[0]}=x`,
        origin,
        "svc-csrf-token": session.csrf,
      },
      { cookie: session.cookie, origin, "svc-csrf-token": session.csrf, "content-type": "text/plain" },
    ]) {
      const response = await fetch(`${origin}${API_PREFIX}/groups`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: '{"title":"forged"}',
      });
      assert.ok([401, 403, 415].includes(response.status), `answers ${response.status}`);
    }
    const { groups } = await user.result("group_list", {});
    assert.ok(!groups.some(({ title }) => title === "forged"));
  });

  it("redeems a login link once, for one of many at the same time, and only from its own page", async () => {
    const code = await loginCode(user);
    assert.equal((await redeem(origin, code, { origin: "http://attacker.example" })).status, 403);
    const answers = await Promise.all(Array.from({ length: 8 }, () => redeem(origin, code)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    assert.equal((await redeem(origin, code)).status, 401);
  });

  it("keeps eight login links, the newest", async () => {
    const codes: string[] = [];
    for (let made = 0; made <= LIMITS.loginLink.live; made++) codes.push(await loginCode(user));
    assert.equal((await redeem(origin, codes[0]!)).status, 401);
    const answers = await Promise.all(codes.slice(1).map((code) => redeem(origin, code)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      codes.slice(1).map(() => 200),
    );
  });

  it("slows down who guesses, and nobody else", async () => {
    const guess = (): Promise<Response> =>
      fetch(`${origin}${API_PREFIX}/groups`, { headers: { authorization: "Bearer svc_wrong" } });
    const statuses: number[] = [];
    for (let count = 0; count < LIMITS.http.authFailuresPerMinute + 5; count++)
      statuses.push((await guess()).status);
    assert.equal(statuses.at(-1), 429);
    assert.ok(Number((await guess()).headers.get("retry-after")) > 0);
    const good = await fetch(`${origin}${API_PREFIX}/groups`, {
      headers: { authorization: `Bearer ${administrator}` },
    });
    assert.equal(good.status, 200, "a valid token from the same address still works");
  });

  it("shows a restricted token nothing of another Group on any stream, now or later", async () => {
    const mine = await user.result("group_create", { title: "mine" });
    const { token, id } = await user.result("access_token_create", { groups: [mine.group_id] });
    const authorization = `Bearer ${token}`;
    const foreign = sentinel.group_id;
    const all = new StreamClient(target, `${API_PREFIX}/events/stream`, { host, authorization }, true);
    const refused = new StreamClient(
      target,
      `${API_PREFIX}/groups/${foreign}/ledger/stream`,
      { host, authorization },
      true,
    );
    await until("both answered", () => all.isOpen && refused.isOpen);
    assert.equal(refused.status, 404);
    const notes: Note[] = [];
    const socket = await openSocket({ authorization }, notes);
    assert.ok(socket);
    socket.send(JSON.stringify({ type: "subscribe", id: "all", channel: "groups" }));
    socket.send(JSON.stringify({ type: "subscribe", id: "theirs", channel: "ledger", group_id: foreign }));
    socket.send(
      JSON.stringify({ type: "subscribe", id: "mine", channel: "ledger", group_id: mine.group_id }),
    );
    await until("the subscriptions are answered", () =>
      ["mine", "theirs"].every((name) => notes.some((note) => note.id === name)),
    );
    const later = await user.result("group_create", { title: "later" });
    await user.result("send", { group_id: later.group_id, to: ["user"], text: "not for them" });
    await user.result("group_delete", { group_id: later.group_id, confirm: later.group_id });
    const { event } = await user.result("send", { group_id: mine.group_id, to: ["user"], text: "for them" });
    await until(
      "the own event comes",
      () => all.ids.includes(event.id) && notes.some((note) => note.type === "event"),
    );
    assert.ok(notes.some((note) => note.id === "theirs" && note.error?.code === "group_not_found"));
    const text = JSON.stringify(notes);
    assert.ok(!text.includes(later.group_id) && notes.every((note) => note.group?.group_id !== foreign));
    assert.equal(all.ids.at(-1), event.id);
    await user.result("access_token_revoke", { token_id: id });
    await until(
      "the revoked token's streams end",
      () => all.isClosed && socket.readyState === WebSocket.CLOSED,
    );
    refused.close();
  });

  it("refuses an Actor's launch token as a Web token, and a Web token at /mcp", async () => {
    const { readFileSync } = await import("node:fs");
    const launch = readFileSync(sentinel.token_file, "utf8").match(/[A-Za-z0-9_-]{40,}/)![0];
    for (const token of [launch, `svc_${launch}`]) {
      assert.equal(await status(get(`${API_PREFIX}/groups`, { authorization: `Bearer ${token}` })), 401);
    }
    for (const authorization of [`Bearer ${administrator}`, "Bearer x", "Basic dXNlcjp4"]) {
      const response = await fetch(`${origin}/mcp`, {
        method: "POST",
        headers: {
          authorization,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}',
      });
      assert.equal(response.status, 401, authorization.slice(0, 8));
    }
  });

  it("refuses messages on the WebSocket that aren't in the contract, and closes floods", async () => {
    const notes: Note[] = [];
    const socket = await openSocket({ authorization: `Bearer ${administrator}` }, notes);
    assert.ok(socket);
    const bad = [
      "",
      "{",
      "null",
      "[]",
      '{"type":"nothing"}',
      '{"type":"ping","x":1}',
      '{"type":"ping","type":"ping"}',
    ];
    for (const text of bad) socket.send(text);
    for (let extra = 0; extra <= LIMITS.stream.subscriptionsPerSocket; extra++) {
      socket.send(
        JSON.stringify({
          type: "subscribe",
          id: `s${extra}`,
          channel: "ledger",
          group_id: sentinel.group_id,
        }),
      );
    }
    await until(
      "every message is answered or the socket closed",
      () =>
        notes.filter(({ type }) => type === "error").length > bad.length ||
        socket.readyState === WebSocket.CLOSED,
    );
    assert.ok(
      notes.filter(({ type }) => type === "subscribed").length <= LIMITS.stream.subscriptionsPerSocket,
    );
    const large = await openSocket({ authorization: `Bearer ${administrator}` });
    assert.ok(large);
    large.send("x".repeat(LIMITS.stream.inboundMessageBytes + 1));
    await until("a large message closes it", () => large.readyState === WebSocket.CLOSED);
    socket.close();
  });

  it("reads odd stream positions as a refusal or a reload", async () => {
    const authorization = `Bearer ${administrator}`;
    const path = `${API_PREFIX}/groups/${sentinel.group_id}/ledger/stream`;
    for (const [query, headers] of [
      ["?after=", {}],
      ["?after=../../etc/passwd", {}],
      ["?after=1&after=2", {}],
      ["?unknown=1", {}],
      [`?after=${"0".repeat(32)}`, {}],
      ["", { "last-event-id": "x".repeat(1000) }],
      ["", { "last-event-id": "0".repeat(32) }],
      ["?after=%00%ff", {}],
    ] as [string, Record<string, string>][]) {
      const { bytes, statuses } = await exchange(target, [get(path + query, { authorization, ...headers })], {
        isDone: (text) => text.startsWith("HTTP/1.1 400 ") || /^event: reload$/m.test(text),
      });
      const reload = /^event: reload$/m.test(bytes.toString("utf8"));
      assert.ok(
        statuses[0] === 400 || reload,
        `${query} ${JSON.stringify(headers)}: ${statuses[0]}, reload ${reload}`,
      );
    }
  });

  it("stays reachable beside slow heads, floods of fields and oversized bodies", async () => {
    const slow = Array.from({ length: 200 }, () =>
      exchange(target, [get("/health").slice(0, 20)], { milliseconds: 3000 }),
    );
    const flood = get("/health").replace("\r\n\r\n", `\r\n${"field: value\r\n".repeat(6000)}\r\n`);
    assert.equal(await status(flood), 431);
    const body = "x".repeat(1000);
    const huge = `POST ${API_PREFIX}/groups HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${administrator}\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n${body}`;
    assert.equal(await status(huge), 413);
    assert.equal(await status(get("/health")), 200);
    await Promise.all(slow);
  });

  it("serves no path outside its routes and assets", async () => {
    const authorization = `Bearer ${administrator}`;
    for (const path of [
      "/../../../etc/passwd",
      "/..%2f..%2f..%2fetc/passwd",
      "/%2e%2e/%2e%2e/etc/passwd",
      "/assets/..%5c..%5csettings.json",
      "//etc/passwd",
      "/settings.json",
      `${API_PREFIX}/groups/${sentinel.group_id}/blobs/..%2f..%2fgroup.json`,
      `${API_PREFIX}/groups/${sentinel.group_id}/blobs/${"0".repeat(64)}`,
      `${API_PREFIX}/groups/..%2f..%2fdaemon`,
      "/%00",
      "/%ff",
      "/%",
    ]) {
      const { statuses, bytes } = await exchange(target, [get(path, { authorization })]);
      assert.ok([400, 404].includes(statuses[0] ?? 0), `${path} answers ${statuses[0]}`);
      assert.ok(!/root:|"digest"|"access_tokens"/.test(bytes.toString("utf8")), path);
    }
  });

  /** The open socket, or null when the daemon refused it; what comes goes into `notes`. */
  function openSocket(headers: Record<string, string>, notes: Note[] = []): Promise<WebSocket | null> {
    return new Promise((resolve) => {
      const socket = new WebSocket(`${origin.replace("http", "ws")}${API_PREFIX}/events/ws`, { headers });
      socket.on("message", (data: Buffer) => notes.push(JSON.parse(data.toString("utf8")) as Note));
      socket.on("open", () => resolve(socket));
      socket.on("error", () => resolve(null));
    });
  }
});
