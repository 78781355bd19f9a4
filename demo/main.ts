/**
 * `svc demo`: a Home of its own, a Group, two scripted agents that really talk over MCP, and a link
 * to watch them in a browser. It begins when somebody does. The script takes well under 30 seconds;
 * then the daemon stays until Ctrl-C. With --direct: demo/direct.ts, with --account:
 * demo/account.ts, with --external: demo/external.ts.
 */
import { setTimeout as delay } from "node:timers/promises";
import { followLedger } from "../client/events.ts";
import { accountPlay } from "./account.ts";
import { awaitViewers } from "./audience.ts";
import { connectionPlay } from "./direct.ts";
import { externalPlay } from "./external.ts";
import { coder, PERSON_ASKS, PROJECT_FILES, planner } from "./script.ts";
import { type DemoSession, inSession, messageLine, type Screen } from "./session.ts";
import { playOnTwoSides } from "./sides.ts";

/** Between what the agents do, so that people can follow. */
const PAUSE_MS = 1200;

export interface DemoOptions {
  /** Waits neither for viewers, nor for people to follow, nor for Ctrl-C at the end. */
  exit: boolean;
  /** Two instances instead of one: with a Direct connection, of one account, or of two. */
  kind: "agents" | "direct" | "account" | "external";
}

/** Runs a demo. Answers the exit code. */
export function demo({ exit, kind }: DemoOptions, screen: Screen): Promise<number> {
  return inSession(async (session) => {
    if (kind === "agents") return agentsDemo(session, exit, screen);
    if (kind === "direct") return playOnTwoSides(session, exit, screen, connectionPlay);
    const service = session.service();
    await service.open();
    const play = kind === "account" ? accountPlay : externalPlay;
    return playOnTwoSides(session, exit, screen, (sides, stage) => play(service, sides, stage));
  });
}

async function agentsDemo(
  { home, interrupted, ended }: DemoSession,
  exit: boolean,
  screen: Screen,
): Promise<number> {
  const here = home("demo");
  await here.open("Demo: the flaky voucher test", PROJECT_FILES);
  const first = await here.agent("planner", "Planner");
  const second = await here.agent("coder", "Coder");
  const { client, group_id: groupId } = here;
  screen.line("Watch it live (the link works once, for 5 minutes):");
  screen.line(`  ${await here.link()}`);
  screen.line();
  if (!exit) await awaitViewers({ homes: [here], screen, ended });
  if (interrupted.aborted) return 0;

  const watching = new AbortController();
  const shown = (async () => {
    const follow = { client, groupId: groupId, after: null, signal: watching.signal };
    for await (const event of followLedger(follow)) {
      const line = messageLine(event);
      if (line !== null) screen.line(`  ${line}`);
    }
  })();
  const pause = () => delay(exit ? 0 : PAUSE_MS);
  await pause();
  const talk = Promise.all([planner(first, pause), coder(second, pause)]);
  // After Ctrl-C the agents are stopped in the middle of a sentence; nothing waits for the rest.
  talk.catch(() => undefined);
  shown.catch(() => undefined);
  const asked = {
    group_id: groupId,
    to: ["planner"],
    message_mode: "request_reply" as const,
    text: PERSON_ASKS,
  };
  await client.result("send", asked);
  await Promise.race([talk, ended]);
  if (interrupted.aborted) {
    watching.abort();
    return 0;
  }
  const { events } = await client.result("ledger_tail", { group_id: groupId, kinds: ["chat.message"] });
  watching.abort();
  await shown;
  screen.line();
  screen.line(`The agents are done: ${events.length} messages.`);
  if (exit) return 0;
  screen.line("The Workbench stays open until you press Ctrl-C; then the demo's Home is removed.");
  await ended;
  return 0;
}
