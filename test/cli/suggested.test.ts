/** The commands that the command line suggests work as they are, beside another Home and Group. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { printJoined } from "../../cli/commands/account.ts";
import { CommandContext } from "../../cli/context.ts";
import { Output } from "../../cli/output.ts";
import { parse } from "../../cli/parse.ts";
import { COMMANDS } from "../../cli/table.ts";
import { freePort } from "../../demo/free-port.ts";
import { ERRORS } from "../../shared/errors.ts";
import { DaemonProcess, plainEnvironment } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { NOWHERE, run, SVC } from "./svc.ts";

const shell = promisify(execFile);

/** The context of a command for `home`, and what it notes. */
function noting(
  words: string,
  options: Record<string, string>,
): { context: CommandContext; notes: string[] } {
  const notes: string[] = [];
  const out = new Output(false);
  out.note = (text) => notes.push(text);
  return { context: new CommandContext({ words }, { args: [], rest: [], options }, out, COMMANDS), notes };
}

describe("suggested commands", function () {
  this.timeout(60_000);
  let folder: string;
  let here: DaemonProcess;
  let there: DaemonProcess;

  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-suggested-")));
    const [home, other] = [join(folder, "a home"), join(folder, "another")];
    for (const one of [home, other]) mkdirSync(one, { mode: 0o700 });
    [here, there] = await Promise.all([
      DaemonProcess.started({ home }),
      DaemonProcess.started({ home: other }),
    ]);
    for (const title of ["Office", "The lab"]) await here.client().result("group_create", { title });
    await there.client().result("group_create", { title: "Cellar" });
  });
  after(async () => {
    await Promise.all([here?.dispose(), there?.dispose()]);
    rmSync(folder, { recursive: true, force: true });
  });

  /** Everything that a command prints for the Home that no variable names. */
  async function told(...args: string[]): Promise<string> {
    const { out, err } = await run([...args, "--home", here.home]);
    return out + err;
  }

  /** Runs the suggestion that `pattern` finds, as a person does who copies it. */
  async function copied(text: string, pattern: RegExp): Promise<string> {
    const [, command = assert.fail(`${String(pattern)} isn't in: ${text}`)] = pattern.exec(text) ?? [];
    const line = `svc() { '${process.execPath}' '${SVC}' "$@"; }; ${command}`;
    const env = { ...plainEnvironment(), SVC_HOME: NOWHERE };
    const { stdout, stderr } = await shell("bash", ["-c", line], { env });
    return stdout + stderr;
  }

  it("name the Home and the Group in what the daemon refuses", async () => {
    await copied(
      await told("actor", "show", "nobody", "--group", "The lab"),
      /'(svc actor list --group 'The lab' --home '.*a home')'/u,
    );
    await copied(
      await told("direct", "approve", "direct-0123", "-g", "The lab"),
      /'(svc direct status --group 'The lab' --home '.*a home')'/u,
    );
    const unknown = await told("show", "0123abcd", "-g", "Office");
    await copied(unknown, /'(svc tail --group Office --home '.*?a home')'/u);
    await copied(await told("token", "revoke", "t_0123"), /'(svc token list --home '.*a home')'/u);
    await copied(await told("connect", "-g", "Office"), /'(svc connections --home '.*a home')'/u);
    assert.match(
      await copied(
        await told("actor", "list", "-g", "Office"),
        /'(svc actor add ID --group Office --home '.*a home')'/u,
      ),
      /Added ID/u,
    );
    assert.match(await told("origin", "check"), /'svc origin set https:\/\/HOST --home '.*a home''/u);
  });

  it("name neither where the environment does, nor a Group for a command that takes none", async () => {
    const refused = await run(["token", "revoke", "t_0123"], { home: here.home });
    assert.match(refused.err, /'svc token list'/u);
    const { context } = noting("tail", { home: here.home, group: "Office" });
    assert.equal(context.suggested("See 'svc group list'."), `See 'svc group list --home '${here.home}''.`);
    assert.equal(
      context.suggested("Give it one with 'svc actor update coder -- COMMAND'."),
      `Give it one with 'svc actor update coder --group Office --home '${here.home}' -- COMMAND'.`,
    );
    const foreign = "Set one there with 'svc origin set https://HOST'. 'svc nothing' isn't one.";
    assert.equal(context.suggested(foreign), foreign);
  });

  it("name them from an import to its start, and from an invitation to the end of the connection", async () => {
    const file = join(folder, "lab");
    await told("group", "export", file, "--group", "The lab");
    assert.match(
      await copied(await told("group", "import", file), /: (svc group start .*)$/mu),
      /is active/u,
    );
    const at = `127.0.0.1:${await freePort()}`;
    await told("direct", "listen", "--bind", at);
    const invited = await told("direct", "invite", "--group", "Office");
    const [invitation = ""] = /^svc-direct:\S+$/mu.exec(invited) ?? [];
    const joined = await run(["direct", "join", "--home", there.home], { input: invitation });
    const { group_id: office = "" } =
      (await here.client().result("group_list", {})).groups.find(({ title }) => title === "Office") ?? {};
    // It is for the other machine, where this Home may have any name.
    const [, id = assert.fail(joined.err)] =
      /: svc direct approve (direct-\S+) --group /u.exec(joined.out) ?? [];
    assert.ok(joined.out.endsWith(` --group ${office}\n`), joined.out);
    const shown = await until("the request", async () => {
      const status = await copied(invited, /: (svc direct status .*)$/mu);
      return /pending approval/u.test(status) ? status : null;
    });
    assert.match(await copied(shown, /next +(svc direct approve .*)$/mu), /Approved/u);
    const END = / {2}(svc direct \w+ .*)$/mu;
    assert.match(await copied(await told("connections"), END), /Revoked/u);
    assert.match(await copied(await told("connections"), END), /Removed/u);
    assert.ok(!(await told("connections")).includes(id));
  });

  it("name the Home where somebody joined the account", async () => {
    const { context, notes } = noting("account", { home: here.home });
    const one = { device_id: "d", name: "Lamp", instance_id: null, at: "2026-01-01T00:00:00.000Z" };
    printJoined(context, { joined: [one as never], account_origin: null });
    await copied(notes.join("\n"), /: (svc account --seen .*)$/mu);
  });

  it("name the folder of an account service", async () => {
    const place = join(folder, "no service");
    const { err } = await run(["account-service", "retire", "d", "--folder", place]);
    assert.ok(err.includes(`'svc account-service --folder '${place}''`), err);
    const { context } = noting("account-service disable", { folder: place });
    assert.equal(
      context.suggested("List them with 'svc account-service members'."),
      `List them with 'svc account-service members --folder '${place}''.`,
    );
  });

  it("are complete in every remedy of the catalogue", () => {
    for (const { remedy } of Object.values(ERRORS))
      for (const [, line = ""] of remedy.matchAll(/'svc ([^']+)'/gu))
        assert.doesNotThrow(() => parse(line.split(" ")), remedy);
  });
});
