/**
 * Runtimes without hooks, really run offline: a message goes into their empty input line and into
 * nothing else.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { Person } from "./person.ts";
import { AgentsSetting, agentsBin, OFFLINE, PATIENCE } from "./setting.ts";

const [ENTER, ESCAPE, CLEAR] = ["\r", "\u001b", "\u0015"];

describe("real agents without hooks", function () {
  this.timeout(8 * PATIENCE);
  let daemon: DaemonProcess;
  let agents: AgentsSetting;
  let token: string;
  before(async () => {
    daemon = await DaemonProcess.started({});
    ({ token } = await daemon.client().result("access_token_create", { name: "keys" }));
  });
  beforeEach(async () => {
    agents = new AgentsSetting(() => daemon);
    await agents.open("others");
  });
  afterEach(async () => {
    await agents.client.result("actor_stop", { group_id: agents.group_id, actor_id: "agent" });
    agents.close();
  });
  after(() => daemon?.stop());

  /** A start takes up to a minute where many other processes run, before anything is drawn. */
  const drawn = (person: Person) =>
    until(
      "it draws something",
      async () => (await person.screen()).some((line) => line.trim() !== ""),
      3 * PATIENCE,
    );
  const environment = (name: string, files: Readonly<Record<string, unknown>>): Record<string, string> => {
    const home = join(agents.root, name);
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(join(home, path, ".."), { recursive: true });
      writeFileSync(join(home, path), JSON.stringify(content));
    }
    return { ...OFFLINE, HOME: home, PATH: [agentsBin("others"), process.env["PATH"]].join(delimiter) };
  };
  const holds = (id: string, words: RegExp, person: Person) =>
    until(words.source, async () => words.test((await agents.delivery(id, "agent")).reason), PATIENCE).catch(
      async (cause: unknown) => {
        const { state, reason } = await agents.delivery(id, "agent");
        throw new Error([state, reason, ...(await person.screen())].join("\n"), { cause });
      },
    );
  const needsPerson = (words: RegExp) =>
    until(
      `it needs a person: ${words.source}`,
      async () => {
        const { state, reason, attention } = await agents.presence("agent");
        return state === "waiting" && attention && words.test(reason);
      },
      PATIENCE,
    );
  /** How often the message is in the request that has it most. */
  const times = (heard: readonly string[], id: string): number =>
    Math.max(0, ...heard.map((request) => request.split(`[svc] message ${id}`).length - 1));

  const hears = (heard: () => readonly string[], id: string, person: Person) =>
    until("it hears the message", () => times(heard(), id) > 0, PATIENCE).catch(async (cause: unknown) => {
      const { state, reason } = await agents.delivery(id, "agent");
      throw new Error([state, reason, ...(await person.screen())].join("\n"), { cause });
    });

  it("opencode: an empty input line, a half-written line, shell mode, a menu, a permission", async () => {
    const model = {
      options: { baseURL: `${agents.model.origin}/v1`, apiKey: "x" },
      models: { scripted: {} },
    };
    const settings = {
      provider: { anthropic: model },
      model: "anthropic/scripted",
      small_model: "anthropic/scripted",
      autoupdate: false,
      share: "disabled",
      permission: { bash: "ask" },
    };
    const reply = (id: string) => ({
      tool: "svc_svc_message_reply",
      input: { event_id: id, text: "done", message_mode: "send" },
    });
    agents.model.script("[svc] message", (id) => [reply(id), { say: "Done." }]);
    agents.model.script("please-touch", () => [
      { tool: "bash", input: { command: "touch done", description: "touch" } },
      { say: "Done." },
    ]);
    await agents.add({
      actor_id: "agent",
      runtime: "opencode",
      command: ["opencode"],
      env: {
        ...environment("opencode", { ".config/opencode/opencode.json": settings }),
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      },
    });
    await agents.start("agent");
    const person = await Person.at(agents, "agent", token);
    await drawn(person);
    const takes = async (id: string) => {
      await hears(() => agents.model.heard, id, person);
      await agents.reaches(id, "agent", "accepted");
      assert.equal(times(agents.model.heard, id), 1);
    };
    await takes(await agents.send("first", ["agent"]));

    const EMPTY = /^ {2}┃$/;
    for (const [keys, shown, words, close] of [
      ["rm -rf half", /┃ {2}rm -rf half/, /unsent text: "rm…"/, CLEAR],
      ["!", /┃ {2}Shell/, /its shell mode is on/, ESCAPE],
      ["\u0010", /Commands +esc/, /its list of commands is open/, ESCAPE],
    ] as const) {
      await person.presses(keys, shown);
      const id = await agents.send("meanwhile", ["agent"]);
      await holds(id, words, person);
      await needsPerson(words);
      assert.equal(times(agents.model.heard, id), 0);
      await person.presses(close, EMPTY);
      await takes(id);
    }
    assert.ok(!agents.model.heard.some((request) => request.includes("rm -rf half")));

    agents.model.script("please-think", () => [{ hold: "thought", say: "Done." }]);
    await person.presses("please-think", /┃ {2}please-think/);
    await person.presses(ENTER, /■.* esc interrupt/);
    const during = await agents.send("meanwhile", ["agent"]);
    await holds(during, /it is working/, person);
    assert.equal(times(agents.model.heard, during), 0);
    agents.model.release("thought");
    await takes(during);

    await person.presses("please-touch", /┃ {2}please-touch/);
    await person.presses(ENTER, /Permission required/);
    const id = await agents.send("meanwhile", ["agent"]);
    await holds(id, /asks for a permission/, person);
    await needsPerson(/asks for a permission/);
    assert.equal(times(agents.model.heard, id), 0);
    await person.presses(ESCAPE, EMPTY);
    await takes(id);
    person.leave();
  });

  it("Copilot: its question about the folder, an empty input line, a half-written line, shell mode, a menu", async () => {
    agents.model.script("[svc] message", () => [{ say: "Nothing to do." }]);
    const env = {
      ...environment("copilot", {}),
      COPILOT_AUTO_UPDATE: "false",
      COPILOT_OFFLINE: "true",
      COPILOT_PROVIDER_TYPE: "anthropic",
      COPILOT_PROVIDER_BASE_URL: agents.model.origin,
      COPILOT_PROVIDER_API_KEY: "x",
      COPILOT_MODEL: "claude-sonnet-4.6",
    };
    await agents.add({ actor_id: "agent", runtime: "copilot", command: ["copilot"], env });
    await agents.start("agent");
    const person = await Person.at(agents, "agent", token);
    await drawn(person);
    const first = await agents.send("first", ["agent"]);
    await holds(first, /asks whether to trust this folder/, person);
    await needsPerson(/asks whether to trust this folder/);
    assert.equal(times(agents.model.heard, first), 0);
    await person.presses(ENTER, /\/ commands/);
    await hears(() => agents.model.heard, first, person);

    for (const [keys, shown, words, close] of [
      ["rm -rf half", /^❯ rm -rf half/, /contains unsent text: "rm…"/, CLEAR],
      ["!", /^! Execute shell command/, /its shell mode is on/, ESCAPE],
      ["\u0012", /^\(reverse-i-search\)/, /its history search is open/, ESCAPE],
    ] as const) {
      await person.presses(keys, shown);
      const id = await agents.send("meanwhile", ["agent"]);
      await holds(id, words, person);
      await needsPerson(words);
      assert.equal(times(agents.model.heard, id), 0);
      await person.presses(close, /^❯$/);
      await hears(() => agents.model.heard, id, person);
      assert.equal(times(agents.model.heard, id), 1);
    }
    assert.ok(!agents.model.heard.some((request) => request.includes("rm -rf half")));

    agents.model.script("please-think", () => [{ hold: "thought", say: "Done." }]);
    await person.presses("please-think", /^❯ please-think/);
    await person.presses(ENTER, /esc esc (?:interrupt|edit prompt)/);
    const during = await agents.send("meanwhile", ["agent"]);
    await holds(during, /it is working/, person);
    assert.equal(times(agents.model.heard, during), 0);
    agents.model.release("thought");
    await hears(() => agents.model.heard, during, person);
    person.leave();
  });

  it("Copilot: nothing goes in as long as nobody has signed in", async () => {
    const home = { ".copilot/config.json": { trustedFolders: [agents.project] } };
    const env = { ...environment("copilot", home), COPILOT_AUTO_UPDATE: "false" };
    await agents.add({ actor_id: "agent", runtime: "copilot", command: ["copilot"], env });
    await agents.start("agent");
    const person = await Person.at(agents, "agent", token);
    await drawn(person);
    const id = await agents.send("first", ["agent"]);
    await holds(id, /asks to sign in/, person);
    await needsPerson(/asks to sign in/);
    assert.ok((await person.screen()).includes("❯"), "its input line is empty");
    person.leave();
  });

  it("Gemini CLI: its question about the folder, which it draws over an empty input line; it restarts itself", async () => {
    const heard: string[] = [];
    const server = createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (chunk) => (body += String(chunk)));
      request.on("end", () => {
        heard.push(body);
        const parts = [{ text: "Nothing to do." }];
        const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
        const content = { role: "model", parts };
        const answer = { candidates: [{ content, finishReason: "STOP" }], usageMetadata };
        const streams = request.url?.includes("stream") === true;
        response.writeHead(200, { "content-type": streams ? "text/event-stream" : "application/json" });
        response.end(streams ? `data: ${JSON.stringify(answer)}\n\n` : '{ "totalTokens": 5 }');
      });
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    try {
      const settings = {
        security: { auth: { selectedType: "gemini-api-key" } },
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        privacy: { usageStatisticsEnabled: false },
      };
      await agents.add({
        actor_id: "agent",
        runtime: "gemini",
        command: ["gemini"],
        env: {
          ...environment("gemini", { ".gemini/settings.json": settings }),
          GEMINI_API_KEY: "dummy",
          GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
          NO_BROWSER: "1",
        },
      });
      await agents.start("agent");
      const person = await Person.at(agents, "agent", token);
      await drawn(person);
      const first = await agents.send("first", ["agent"]);
      await holds(first, /asks whether to trust this folder/, person);
      await needsPerson(/asks whether to trust this folder/);
      assert.equal(times(heard, first), 0);
      await person.presses(ENTER, /restarting to apply the trust changes/);
      await hears(() => heard, first, person);
      person.leave();
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
