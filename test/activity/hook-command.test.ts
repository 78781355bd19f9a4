/** `svc hook` as runtimes run it: the shell script and the Node program must behave the same. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { writeAddress } from "../../client/endpoint.ts";
import { findCurl, findHookClient, findPerl, type HookClient } from "../../client/hook/hook-client.ts";
import {
  decideCommand,
  type HookCommand,
  type HookCommandOptions,
  prepareHookCommand,
  removeHookCommand,
} from "../../client/hook/hook-command.ts";
import { DECIDE_MS, PAYLOAD_BYTES, WAIT_MS } from "../../client/hook/serve.ts";
import { homePaths } from "../../client/paths.ts";
import type { Launch } from "../../daemon/activity/launches.ts";
import { replaceFile } from "../../platform/durable.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { LIMITS } from "../../shared/limits.ts";
import { ENVIRONMENT } from "../../shared/names.ts";
import { verifies } from "../requirements.ts";
import { SVC } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { type Served, SOCKET_KEY, serve, TOKEN } from "./served.ts";
import { claude, openSetting, type Setting } from "./setting.ts";

const files = new RealFiles();

interface Ended {
  code: number | null;
  output: string;
  milliseconds: number;
}

/** Runs the command and gives it `input`; standard input stays open when that is null. */
async function run(
  [program, ...args]: HookCommand,
  input: string | Buffer | null,
  environment: Record<string, string> = {},
): Promise<Ended> {
  const begin = performance.now();
  const child = spawn(program, args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env["PATH"] ?? "", ...environment },
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  // A hook that has seen enough closes its input.
  child.stdin.on("error", () => {});
  if (input !== null) child.stdin.end(input);
  const [code] = (await once(child, "close")) as [number | null];
  const milliseconds = performance.now() - begin;
  return { code, output, milliseconds };
}

describe("svc hook", () => {
  let setting: Setting;
  let served: Served;
  let launch: Launch;
  beforeEach(async () => {
    setting = await openSetting();
    await setting.addActor("ann", "claude", { answerable: true });
    launch = setting.launches.launch(setting.group, "ann");
    served = await serve(setting, () => launch);
  });
  afterEach(async () => {
    await served.close();
    await setting.close();
  });

  /** The daemon has judged so many events, and what counted is on disk. */
  const judged = async (count: number): Promise<void> => {
    const { counts } = served.dispatcher;
    await until(`${count} events`, () => counts.get("hook_submit")!.done >= count);
    await setting.activity.settled();
  };
  const options = (client: HookClient | null, socket = served.socket): HookCommandOptions => ({
    files,
    paths: setting.group.paths,
    actor_id: "ann",
    socket,
    token: TOKEN,
    client,
    node: process.execPath,
    svc: SVC,
  });
  const prepare = (client: HookClient | null, socket = served.socket): Promise<HookCommand> =>
    prepareHookCommand(options(client, socket));

  const path = process.env["PATH"] ?? "";
  it("finds the Perl and the curl of this machine, and none where there is none", () => {
    const [perl, curl] = [findPerl(path), findCurl(path)];
    assert.ok(curl !== null, "the tests need curl");
    assert.deepEqual(findHookClient(path), perl ?? curl);
    for (const find of [findPerl, findCurl, findHookClient]) {
      assert.equal(find(""), null);
      assert.equal(find("relative:/nonexistent"), null);
    }
  });

  it("takes no program that can't do it, and the real one behind one that stands for it", async () => {
    const bin = join(setting.root, "bin");
    files.mkdir(bin);
    const put = (name: string, script: string): void =>
      writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    put("curl", "echo curl 7.54.0; echo Features: UnixSockets");
    put("perl", "echo other numbers");
    assert.equal(findHookClient(bin), null);
    put("curl", "echo curl 7.55.0; echo Features: UnixSockets");
    assert.deepEqual(findHookClient(bin), { program: "curl", path: join(bin, "curl") });
    const real = findPerl(path);
    if (real === null) return;
    put("perl", `exec ${real.path} "$@"`);
    assert.deepEqual(findHookClient(bin), real);
  });

  const variants: [string, () => HookClient | null][] = [
    ["shell script with Perl", () => findPerl(path)],
    ["shell script with curl", () => findCurl(path)],
    ["Node program", () => null],
  ];
  for (const [name, client] of variants) {
    describe(name, () => {
      before(function () {
        if (name.includes("Perl") && client() === null) this.skip();
      });
      const quiet = (ended: Ended): void => assert.deepEqual([ended.code, ended.output], [0, ""]);

      it("submits one event and says nothing", async () => {
        verifies("HOOK-001", "HOOK-009", "HOOK-010");
        const command = await prepare(client());
        quiet(await run(command, JSON.stringify(claude().start())));
        quiet(await run(command, JSON.stringify(claude().pre("t1"), null, 2)));
        await judged(2);
        assert.deepEqual(
          setting.snapshot().map(({ status, operation_id: operationId }) => `${status} ${operationId}`),
          ["started ", "started t1"],
        );
      });

      it("keeps the token in owner-only files and out of its arguments, and takes them away afterwards", async () => {
        const command = await prepare(client());
        assert.ok(!command.join(" ").includes(TOKEN));
        const own = files.list(setting.group.paths.hooks);
        assert.deepEqual(own, ["ann.head"]);
        const file = join(setting.group.paths.hooks, "ann.head");
        assert.equal(statSync(file).mode & 0o777, 0o600);
        const fields = readFileSync(file, "utf8");
        assert.ok(fields.includes(TOKEN));
        assert.doesNotMatch(fields, /socket-key/i, "the person's key lies beside what an agent reads");
        await removeHookCommand(files, setting.group.paths, "ann");
        assert.deepEqual(files.list(setting.group.paths.hooks), []);
        // A hook that comes late must not fail either: a failure could block what the runtime does.
        quiet(await run(command, "{}"));
      });

      it("works with the file of an earlier version, which named a key", async () => {
        const command = await prepare(client());
        const file = join(setting.group.paths.hooks, "ann.head");
        const fields = readFileSync(file, "utf8").replace(
          "Expect:",
          `svc-socket-key: ${"o".repeat(43)}\nExpect:`,
        );
        await replaceFile(files, file, Buffer.from(fields));
        quiet(await run(command, JSON.stringify(claude().start())));
        await judged(1);
        assert.equal(setting.snapshot().length, 1);
      });

      it("ends well whatever it is given and whatever the daemon says", async () => {
        const command = await prepare(client());
        const depth = "[".repeat(1000) + "]".repeat(1000);
        for (const input of ["", "nonsense", "[]", '{"a":1,"a":2}', depth, Buffer.from([0xff, 0])])
          quiet(await run(command, input));
        launch = { ...launch, token_digest: "another" };
        quiet(await run(command, JSON.stringify(claude().start())));
        await judged(1);
        assert.deepEqual(setting.snapshot(), []);
      });

      it("takes a payload of one MiB and no more", async () => {
        const command = await prepare(client());
        await setting.submit(launch, claude().start());
        const padded = (bytes: number, id: string): string => {
          const payload = JSON.stringify(claude().pre(id, "Write", { tool_input: { text: "" } }));
          return payload.replace('"text":""', `"text":"${"x".repeat(bytes - payload.length)}"`);
        };
        assert.equal(padded(LIMITS.activity.hook.payloadBytes, "t1").length, 1024 * 1024);
        quiet(await run(command, padded(LIMITS.activity.hook.payloadBytes, "t1")));
        quiet(await run(command, padded(LIMITS.activity.hook.payloadBytes + 1, "t2")));
        quiet(await run(command, padded(40 * 1024 * 1024, "t3")));
        await judged(1);
        assert.deepEqual(
          setting.snapshot().map(({ operation_id: operationId }) => operationId),
          ["", "t1"],
        );
      });

      it("works when the daemon is gone", async () => {
        const command = await prepare(client(), join(setting.root, "nothing"));
        quiet(await run(command, JSON.stringify(claude().start())));
        rmSync(served.socket, { force: true });
        quiet(await run(await prepare(client()), JSON.stringify(claude().start())));
      });

      it("waits three seconds at most: for a daemon that says nothing, and for an input that never ends", async () => {
        const silent: Socket[] = [];
        const server = createServer((socket) => void silent.push(socket.on("error", () => {})));
        const path = join(setting.root, "silent");
        await new Promise<void>((done) => server.listen(path, done));
        const idle = await prepare(client(), join(setting.root, "nothing"));
        const command = await prepare(client(), path);
        const times: number[] = [];
        // A program that waits for nothing shows what a busy machine needs to start one; a machine
        // that stood still meanwhile proves nothing.
        for (let round = 0; round < 8 && !times.some((time) => time < 4500); round += 1) {
          const [atOnce, unanswered, untaken, unending] = await Promise.all([
            run(idle, JSON.stringify(claude().start())),
            run(command, JSON.stringify(claude().start())),
            run(command, "x".repeat(LIMITS.activity.hook.payloadBytes)),
            run(command, null),
          ]);
          const all = [unanswered, untaken, unending];
          for (const ended of [atOnce, ...all]) quiet(ended);
          assert.ok(unending.milliseconds > 2500, "it waited for the input");
          assert.ok(untaken.milliseconds > 2500, "it waited for the daemon to take it");
          times.push(Math.max(...all.map(({ milliseconds }) => milliseconds)) - atOnce.milliseconds);
        }
        assert.ok(
          times.some((time) => time < 4500),
          `${times.join()} ms`,
        );
        for (const socket of silent) socket.destroy();
        server.close();
      });

      describe("which waits for a decision", () => {
        const asks = JSON.stringify(
          claude().ask("Bash", { tool_input: { command: "echo \u00fc\u2028'\"" } }),
        );
        const open = async () =>
          (await setting.call("actor_questions", { group_id: setting.group.group_id })).questions[0];
        const answer = async (decision: "allow" | "deny", message?: string): Promise<void> => {
          const { actor_id: actorId, question_id: questionId } = await until("a question", open);
          const input = {
            group_id: setting.group.group_id,
            actor_id: actorId,
            question_id: questionId,
            decision,
          };
          await setting.call("actor_answer", message === undefined ? input : { ...input, message });
        };

        it("prints what a person decides, as the runtime takes it, and nothing else", async () => {
          await prepare(client());
          const command = decideCommand(options(client()));
          const [allowed] = await Promise.all([run(command, asks), answer("allow")]);
          const decided = (behavior: object) => ({
            hookSpecificOutput: { hookEventName: "PermissionRequest", decision: behavior },
          });
          assert.deepEqual(
            [allowed.code, allowed.output.trim()],
            [0, JSON.stringify(decided({ behavior: "allow" }))],
          );
          const message = "n\u00f6: 100% '$(id)' }} \\\\n\nlast";
          const [refused] = await Promise.all([run(command, asks), answer("deny", message)]);
          assert.equal(refused.code, 0);
          assert.deepEqual(JSON.parse(refused.output), decided({ behavior: "deny", message }));
        });

        it("prints nothing and succeeds without a decision, whatever happens", async () => {
          const nowhere = options(client(), join(setting.root, "nothing"));
          quiet(await run(decideCommand(nowhere), asks));
          await prepare(client());
          const command = decideCommand(options(client()));
          for (const input of ["", "nonsense", JSON.stringify(claude().start())])
            quiet(await run(command, input));
          const waiting = run(command, asks);
          await until("a question", open);
          setting.launches.end(launch);
          quiet(await waiting);
          launch = setting.launches.launch(setting.group, "ann");
          const cut = run(command, asks);
          await until("a question", open);
          await served.close();
          quiet(await cut);
        });

        it("ends its question when the runtime ends it", async () => {
          await prepare(client());
          const [program, ...args] = decideCommand(options(client()));
          // As Claude does: it and all that it has started.
          const child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"], detached: true });
          child.stdin.end(asks);
          await until("a question", open);
          process.kill(-child.pid!, "SIGTERM");
          await until("no question", async () => (await open()) === undefined);
        });
      });

      it("isn't led astray by the environment", async () => {
        const command = await prepare(client());
        const environment = {
          http_proxy: "http://127.0.0.1:9",
          ALL_PROXY: "http://127.0.0.1:9",
          CURL_HOME: setting.root,
          HOME: setting.root,
          PERL5LIB: setting.root,
          PERL5OPT: "-MNothing",
          PERL_UNICODE: "SDA",
          LC_ALL: "nowhere",
        };
        await replaceFile(
          files,
          join(setting.root, ".curlrc"),
          Buffer.from("verbose\noutput = /dev/stderr\n"),
        );
        quiet(await run(command, JSON.stringify(claude().start()), environment));
        await judged(1);
        assert.equal(setting.snapshot().length, 1);
      });
    });
  }

  it("finds daemon and token by the environment where it is given neither", async () => {
    verifies("HOOK-005");
    const paths = homePaths(setting.root);
    files.mkdir(paths.daemon.directory);
    await replaceFile(files, paths.daemon.key, Buffer.from(`${SOCKET_KEY}\n`));
    await writeAddress(files, paths, {
      pid: 1,
      version: "0.0.0",
      socket: served.socket,
      web_origin: null,
      started_at: "",
    });
    const tokenFile = join(setting.root, "token.json");
    await replaceFile(files, tokenFile, Buffer.from(JSON.stringify({ token: TOKEN })));
    const environment = { [ENVIRONMENT.home]: setting.root, [ENVIRONMENT.actorFile]: tokenFile };
    const command: HookCommand = [process.execPath, SVC, "hook"];
    const ended = await run(command, JSON.stringify(claude().start()), environment);
    assert.deepEqual([ended.code, ended.output], [0, ""]);
    await judged(1);
    assert.equal(setting.snapshot().length, 1);
    for (const broken of [
      {},
      { [ENVIRONMENT.home]: setting.root },
      { ...environment, [ENVIRONMENT.home]: "/none" },
    ]) {
      const { code, output } = await run(command, "{}", broken);
      assert.deepEqual([code, output], [0, ""]);
    }
  });

  it("has the limits of the table", () => {
    assert.equal(PAYLOAD_BYTES, LIMITS.activity.hook.payloadBytes);
    assert.equal(WAIT_MS, LIMITS.activity.hook.waitSeconds * 1000);
    assert.equal(DECIDE_MS, (LIMITS.questions.openSeconds + LIMITS.questions.graceSeconds) * 1000);
    assert.ok(existsSync(SVC));
  });
});
