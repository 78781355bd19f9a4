/** Two Homes on this machine that play two instances: what the demos of connections share. */
import { setTimeout as delay } from "node:timers/promises";
import type { Agent } from "./agent.ts";
import { awaitViewers } from "./audience.ts";
import { listen, next } from "./script.ts";
import type { DemoSession, Home, Screen } from "./session.ts";

/** Between the steps, so that people can follow. */
const PAUSE_MS = 2000;
const PATIENCE_MS = 60_000;
const LOOK_MS = 100;

const MEASUREMENTS = ["run;seconds", "1;4.21", "2;4.19", "3;9.87", ""].join("\n");

/** Everything one side needs to write to the other. */
export interface Side {
  home: Home;
  agent: Agent;
  instance_id: string;
}

export interface Sides {
  office: Side;
  lab: Side;
}

/** What a play on the two sides needs besides them. */
export interface Stage {
  say(text: string): void;
  pause(): Promise<void>;
  /** Looks again and again until there is something; after Ctrl-C it gives up. */
  until<Value>(what: string, look: () => Promise<Value | null | undefined | false>): Promise<Value>;
}

/** A stage that says things on `screen`; without pauses where nobody has to follow. */
export function stageOf(screen: Screen, interrupted: AbortSignal, hasPauses: boolean): Stage {
  return {
    say: (text) => screen.line(`  ${text}`),
    pause: () => delay(hasPauses ? PAUSE_MS : 0),
    until: (what, look) => until(what, interrupted, look),
  };
}

async function until<Value>(
  what: string,
  interrupted: AbortSignal,
  look: () => Promise<Value | null | undefined | false>,
): Promise<Value> {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline && !interrupted.aborted; ) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    await delay(LOOK_MS);
  }
  throw new Error(interrupted.aborted ? "The demo was ended." : `The demo waited in vain for ${what}.`);
}

async function side(home: Home, title: string, files: Readonly<Record<string, string>>): Promise<Side> {
  await home.open(title, files);
  const agent = await home.agent("lead", "");
  const { instance_id: instanceId } = await home.client.result("daemon_status", {});
  return { home, agent, instance_id: instanceId };
}

/** Fields of a message to the lead of the other side. */
function addressOf({ instance_id: instanceId, home }: Side) {
  return { dst_instance_id: instanceId, dst_group_id: home.group_id, to: ["lead"] };
}

/** Waits until each side knows the other's Actors. */
export async function meet({ office, lab }: Sides, stage: Stage): Promise<void> {
  for (const [one, other] of [
    [office, lab],
    [lab, office],
  ] as const) {
    await stage.until("the other side's Actors", async () => {
      const found = await one.home.client.result("connect_catalog", {
        group_id: one.home.group_id,
        instance_id: other.instance_id,
        target_group_id: other.home.group_id,
      });
      return "catalog" in found && found.catalog !== null;
    });
  }
  stage.say("Online: each side knows the other's Actors.");
}

/** The office's lead asks with a file; the lab's lead reads it and answers. */
export async function exchange({ office, lab }: Sides, stage: Stage): Promise<void> {
  await stage.pause();
  await office.agent.tool("svc_bootstrap");
  await lab.agent.tool("svc_bootstrap");
  await office.agent.tool("svc_connect");
  await office.agent.tool("svc_file_send", {
    ...addressOf(lab),
    paths: ["measurements.csv"],
    message_mode: "request_reply",
    text: "The third run took **twice as long**. Does your rig show the same?",
    idempotency_key: "demo-ask-lab",
  });
  stage.say("The office's lead asks the lab's lead, with measurements.csv.");
  const asked = await next(lab.agent, null);
  await lab.agent.tool("svc_file", { event_id: asked.event.id });
  await stage.pause();
  await lab.agent.tool("svc_message_reply", {
    event_id: asked.event.id,
    text: "Yes: the fan was off in run 3. Here it is the same.",
  });
  void listen(lab.agent, asked.batch);
  const answered = await next(office.agent, null);
  void listen(office.agent, answered.batch);
  stage.say("The lab's lead reads the file and answers; the answer is back at the office.");
}

/** The code with which `from` is refused a message to `to`. */
export async function lateMessage(from: Side, to: Side): Promise<string> {
  const refused = await from.home.client.call("connect_send", {
    group_id: from.home.group_id,
    instance_id: to.instance_id,
    target_group_id: to.home.group_id,
    client_id: "demo-late",
    to: ["lead"],
    text: "One more thing",
  });
  return refused.ok ? "no, it was taken" : refused.error.code;
}

/** Opens both sides, shows where to watch them, and runs `play`. Answers the exit code. */
export async function playOnTwoSides(
  { home, interrupted, ended }: DemoSession,
  exit: boolean,
  screen: Screen,
  play: (sides: Sides, stage: Stage) => Promise<void>,
): Promise<number> {
  const [office, lab] = await Promise.all([
    side(home("office"), "Office", { "measurements.csv": MEASUREMENTS }),
    side(home("lab"), "Lab", {}),
  ]);
  screen.line("Two instances. Watch both, in two windows (each link works once, for 5 minutes):");
  screen.line(`  office  ${await office.home.link()}`);
  screen.line(`  lab     ${await lab.home.link()}`);
  screen.line();
  if (!exit) await awaitViewers({ homes: [office.home, lab.home], screen, ended });
  if (interrupted.aborted) return 0;
  const begun = performance.now();
  const played = play({ office, lab }, stageOf(screen, interrupted, !exit));
  played.catch(() => undefined);
  await Promise.race([played, ended]);
  if (interrupted.aborted) return 0;
  screen.line();
  screen.line(`Done in ${Math.round((performance.now() - begun) / 1000)} seconds.`);
  if (exit) return 0;
  screen.line("Both Workbenches stay open until you press Ctrl-C; then the demo's Homes are removed.");
  await ended;
  return 0;
}
