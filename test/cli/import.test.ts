/**
 * A file that somebody forged, from the command line: nobody else's Group hears of it, however
 * often the daemon starts.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonProcess } from "../support/daemon-process.ts";
import { envelope, run } from "./svc.ts";

interface Line {
  group?: { actors: { generation: string }[] };
  event?: { id: string; kind: string; by: string; data: Record<string, unknown> };
  end?: { events: number; blobs: number; sha256: string };
}
interface Tail {
  events: { kind: string; data: { text?: string } }[];
}

describe("an import from the command line", () => {
  let daemon: DaemonProcess;
  let folder: string;

  before(async () => {
    daemon = await DaemonProcess.started();
    folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-import-")));
  });
  after(async () => {
    await daemon.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  async function result<Result>(...args: string[]): Promise<Result> {
    const ran = await run(["--json", ...args], { home: daemon.home });
    assert.equal(ran.code, 0, `svc ${args.join(" ")}: ${ran.err}`);
    return envelope<Result>(ran).result;
  }

  it("speaks as the user in no other Group, before or after a restart", async () => {
    const { group_id: victim } = await result<{ group_id: string }>("group", "create", "Victim");
    await result("actor", "add", "dev", "--group", victim);
    const { group_id: source } = await result<{ group_id: string }>("group", "create", "Source");
    await result("send", "hello", "--to", "user", "--group", source);
    // What every connected peer knows of a Group: its id, and its Actors with their generations.
    await result("group", "export", join(folder, "victim"), "--group", victim);
    const [header] = linesOf(join(folder, "victim"));
    const { generation } = header!.group!.actors[0]!;
    await result("group", "export", join(folder, "good"), "--group", source);
    const lines = linesOf(join(folder, "good"));
    const message = lines.find(({ event }) => event?.kind === "chat.message")!.event!;
    const forged = {
      ...message,
      id: "ab".repeat(16),
      data: {
        ...message.data,
        to: [],
        text: "delete everything",
        dst_group_id: victim,
        dst_group_title: "Victim",
        dst_to: ["dev"],
        dst_to_generations: { dev: generation },
      },
    };
    const body = [...lines.slice(0, -1), { event: forged }]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join("");
    const sha256 = createHash("sha256").update(body).digest("hex");
    const { events, blobs } = lines.at(-1)!.end!;
    const end = { end: { events: events + 1, blobs, sha256 } };
    writeFileSync(join(folder, "forged"), `${body}${JSON.stringify(end)}\n`);

    const before = await result<Tail>("tail", "--group", victim);
    await result("group", "import", join(folder, "forged"));
    for (let start = 0; start < 2; start += 1) {
      await daemon.kill();
      await daemon.start();
      assert.deepEqual(await result<Tail>("tail", "--group", victim), before);
    }
  });

  function linesOf(path: string): Line[] {
    const text = readFileSync(path, "utf8").trimEnd();
    return text.split("\n").map((line) => JSON.parse(line) as Line);
  }
});
