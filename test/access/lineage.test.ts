import assert from "node:assert/strict";
import { type ActorRoot, Lineage, type LineageDependencies } from "../../daemon/access/lineage.ts";
import type { ProcessEntry, ProcessTable } from "../../platform/process-table.ts";
import { readProcessList } from "../../platform/real-process-table.ts";

type Row = Partial<Omit<ProcessEntry, "pid">> & { environment?: Record<string, string> };

/** Processes by their number. */
class Table implements ProcessTable {
  constructor(readonly rows: Record<number, Row>) {}

  #entry(pid: number): ProcessEntry | null {
    const row = this.rows[pid];
    return row === undefined
      ? null
      : { parent: 1, birth: `b${pid}`, session: pid, terminal: "", name: "node", ...row, pid };
  }

  ancestry(pid: number): Promise<ProcessEntry[]> {
    const found: ProcessEntry[] = [];
    for (let at = this.#entry(pid); at !== null; at = this.#entry(at.parent)) found.push(at);
    return Promise.resolve(found);
  }

  isThere({ pid, birth }: Pick<ProcessEntry, "pid" | "birth">): boolean {
    return this.#entry(pid)?.birth === birth;
  }

  uptime(): number {
    return 0;
  }

  beganAfter({ birth }: Pick<ProcessEntry, "birth">): boolean {
    return birth === "after the connection";
  }

  terminalOf(pid: number): string {
    return this.#entry(pid)?.terminal ?? "";
  }

  environment(pid: number): Record<string, string> {
    return this.rows[pid]?.environment ?? {};
  }
}

const OF_ACTOR = { group_id: "g_0123456789ab", actor_id: "ann", generation: "one" };
const ROOT: ActorRoot = { ...OF_ACTOR, launch: "digest", pid: 50, birth: "b50", terminal: "pts9", mark: "m" };
/** A desktop: the daemon (20) was started in a terminal (11) of a user's systemd (2). */
const MACHINE: Record<number, Row> = {
  1: { parent: 0, name: "systemd", session: 1 },
  2: { name: "systemd" },
  10: { parent: 2, name: "terminal" },
  11: { parent: 10, name: "bash", terminal: "pts1" },
  20: { parent: 11, session: 20 },
  50: { parent: 20, session: 50, terminal: "pts9", name: "claude" },
};

async function lineageOn(rows: Record<number, Row>, options: Partial<LineageDependencies> = {}) {
  const table = new Table({ ...MACHINE, ...rows });
  const lineage = new Lineage({
    table,
    pid: 20,
    launched: () => [ROOT],
    isOfHome: (environment) => environment["SVC_HOME"] === "/home",
    ofFile: () => null,
    isCurrent: () => true,
    ...options,
  });
  await lineage.start();
  const stand = async (pid: number): Promise<string> => {
    const standing = lineage.judge(await lineage.read(pid, 0));
    return standing.kind === "person" ? standing.known : standing.kind;
  };
  return { table, lineage, stand };
}

describe("whose process calls", () => {
  it("is the Actor's, by descent, session, terminal or environment", async () => {
    const { stand } = await lineageOn({
      60: { parent: 50 },
      61: { parent: 60, terminal: "pts5" },
      62: { session: 50 },
      63: { terminal: "pts9" },
      64: { environment: { SVC_HOME: "/home", SVC_LAUNCH_ID: "m" } },
      65: { parent: 64, terminal: "pts6" },
    });
    for (const pid of [50, 60, 61, 62, 63, 64, 65]) assert.equal(await stand(pid), "actor", `${pid}`);
  });

  it("isn't the Actor's for the environment of another Home", async () => {
    const { stand } = await lineageOn({
      64: { parent: 11, terminal: "pts1", environment: { SVC_HOME: "/other", SVC_LAUNCH_ID: "m" } },
    });
    assert.equal(await stand(64), "terminal");
  });

  it("is nobody's once the launch of its environment has ended", async () => {
    const environment = { SVC_HOME: "/home", SVC_LAUNCH_ID: "earlier" };
    const { stand } = await lineageOn({ 64: { parent: 11, terminal: "pts1", environment } });
    assert.equal(await stand(64), "former");
  });

  it("is the external Actor's whose token file an environment names", async () => {
    const { stand } = await lineageOn(
      { 64: { environment: { SVC_HOME: "/home", SVC_ACTOR_FILE: "/f" } }, 65: { parent: 64 } },
      { ofFile: (path) => (path === "/f" ? { kind: "actor", root: OF_ACTOR } : null) },
    );
    assert.equal(await stand(65), "actor");
  });

  it("tells a process from a later one with its number", async () => {
    const { stand, lineage, table } = await lineageOn({ 70: { parent: 11 }, 80: { parent: 50 } });
    const person = await lineage.read(70, 0);
    const actor = await lineage.read(80, 0);
    assert.equal(lineage.judge(person).kind, "person");
    table.rows[70] = { parent: 11, birth: "later" };
    assert.equal(lineage.judge(person).kind, "unknown", "the process that connected is gone");
    table.rows[50] = { parent: 11, terminal: "pts1", birth: "later" };
    table.rows[81] = { parent: 50 };
    assert.equal(await stand(81), "terminal", "its parent isn't the Actor's process, only its number");
    assert.equal(lineage.judge(actor).kind, "actor", "what it came from stays");
    table.rows[71] = { parent: 11, terminal: "pts1", birth: "after the connection" };
    assert.equal(await stand(71), "unknown");
  });

  it("is a person's at a terminal, in the editor, and where the daemon was started", async () => {
    const { stand } = await lineageOn({
      30: { parent: 2, environment: { VSCODE_ESM_ENTRYPOINT: "vs/workbench/api/node/extensionHostProcess" } },
      31: { parent: 30 },
      40: { parent: 2, name: "tmux: server" },
      41: { parent: 40, name: "zsh", terminal: "pts2" },
      42: { parent: 41, terminal: "pts2" },
      43: { parent: 10 },
      44: { parent: 2, session: 11 },
      45: { parent: 0 },
    });
    const expected = {
      11: "terminal",
      42: "terminal",
      30: "editor",
      43: "starter",
      44: "starter",
      45: "starter",
    };
    for (const [pid, known] of Object.entries(expected)) assert.equal(await stand(Number(pid)), known, pid);
    assert.equal(await stand(31), "unknown", "what an editor's extension started isn't the editor");
  });

  it("isn't a person's for jobs, units and what lost its parents", async () => {
    const { stand } = await lineageOn({
      90: { name: "cron" },
      91: { parent: 90, name: "sh" },
      92: { parent: 2, name: "backup" },
      93: { parent: 1 },
    });
    for (const pid of [91, 92, 93]) assert.equal(await stand(pid), "unknown", `${pid}`);
    assert.equal(await stand(99), "unknown", "gone");
  });

  it("is of an agent that somebody started at a terminal, once its MCP server has connected", async () => {
    const rows: Record<number, Row> = {
      12: { parent: 11, name: "bash", terminal: "pts1" },
      13: { parent: 12, name: "claude", terminal: "pts1" },
      14: { parent: 13, name: "svc", terminal: "pts1" },
      15: { parent: 13, name: "sh", terminal: "pts1" },
      16: { parent: 12, terminal: "pts1" },
      30: { parent: 2, name: "code" },
      31: { parent: 30, name: "svc" },
      32: { parent: 30, name: "bash", terminal: "pts3" },
    };
    const { stand, lineage, table } = await lineageOn(rows);
    const connect = async (pid: number) => lineage.connect(OF_ACTOR, (await lineage.read(pid, 0))!);
    assert.equal(await stand(15), "terminal");
    await connect(14);
    assert.equal(await stand(15), "actor");
    assert.equal(await stand(16), "terminal", "its shell stays the person's");
    await connect(31);
    assert.equal(await stand(32), "terminal", "an editor isn't an agent");
    await connect(13);
    assert.equal(await stand(16), "terminal", "nor is a shell in which somebody ran the server");
    await connect(12);
    assert.equal(await stand(11), "terminal", "nor what the daemon comes from");
    table.rows[13] = { parent: 12, name: "vi", terminal: "pts1", birth: "later" };
    assert.equal(await stand(15), "terminal", "another process has its number");
  });
});

describe("the list of processes of ps", () => {
  it("is read as it is printed", () => {
    const text = [
      "    1     0 ??       Wed Nov 25 08:15:02 2026     /sbin/launchd",
      "  812   700 ttys001  Wed Nov 25 09:00:00 2026     -zsh",
      " 9000   812 ttys001  Thu Nov  5 10:11:12 2026     /Applications/My App.app/Contents/MacOS/My App",
      "",
    ].join("\n");
    const found = readProcessList(text);
    assert.deepEqual(
      [...found.values()].map(({ pid, parent, terminal, name }) => [pid, parent, terminal, name]),
      [
        [1, 0, "", "launchd"],
        [812, 700, "ttys001", "-zsh"],
        [9000, 812, "ttys001", "My App"],
      ],
    );
    assert.equal(found.get(9000)!.birth, "Thu Nov 5 10:11:12 2026");
  });
});
