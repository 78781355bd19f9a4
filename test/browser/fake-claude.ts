/**
 * An Actor in a terminal that behaves as Claude does towards the daemon: reads prompts, runs its
 * hooks (test/runtimes/fake-agent.mjs).
 */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Setting } from "./setting.ts";

const AGENT = join(import.meta.dirname, "../runtimes/fake-agent.mjs");

/** A command of the runtime's own name, as hooks are handed to nothing else. */
export function fakeClaude(): string {
  const command = join(mkdtempSync(join(tmpdir(), "svc-agent-")), "claude");
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${AGENT}' "$@"\n`, { mode: 0o755 });
  return command;
}

export interface FakeActor {
  group_id: string;
  title: string;
  actor_id: string;
  /** Its tool, which a prompt with TOOL uses, comes to its end. */
  readonly endTool: () => void;
  /** The arguments of each start so far. */
  readonly starts: () => string[][];
  /** When it asked for permission, in epoch milliseconds. */
  readonly asked: () => number[];
  /** What its hooks answered when it asked. */
  readonly answered: () => string[];
}

/** A Group with a folder of its own and one such Actor in it, started. */
export async function startFakeClaude(
  { owner }: Pick<Setting, "owner">,
  title: string,
  actorId = "ann",
  more: { answerable?: boolean; command?: string; questions?: readonly object[] } = {},
): Promise<FakeActor> {
  const path = mkdtempSync(join(tmpdir(), "svc-project-"));
  const project = join(path, title);
  mkdirSync(project);
  const { group_id: groupId } = await owner.result("attach", { path: project });
  const log = join(path, "log");
  const env = {
    FAKE_AGENT: JSON.stringify({ log, keeps: true, command: more.command, questions: more.questions }),
  };
  await owner.result("actor_add", {
    group_id: groupId,
    actor_id: actorId,
    runtime: "claude",
    runner: "pty",
    command: [fakeClaude()],
    env,
    answerable: more.answerable ?? false,
  });
  await owner.result("actor_start", { group_id: groupId, actor_id: actorId });
  const notes = () =>
    readFileSync(log, "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { start?: string[]; asks?: number; answer?: string });
  const starts = () => notes().flatMap(({ start }) => (start === undefined ? [] : [start]));
  const asked = () => notes().flatMap(({ asks }) => (asks === undefined ? [] : [asks]));
  const answered = () => notes().flatMap(({ answer }) => (answer === undefined ? [] : [answer]));
  return {
    group_id: groupId,
    title,
    actor_id: actorId,
    endTool: () => writeFileSync(`${log}.tool`, ""),
    starts,
    asked,
    answered,
  };
}
