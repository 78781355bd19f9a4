/**
 * `svc demo --direct`: two Homes on this machine play two instances. It shows an invitation, six
 * words, an approval, then a message with a file, an answer, a request and its withdrawal, and the
 * end of the connection. Visible in two browser windows, done in under a minute.
 */
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { invitationClaims, relationWords } from "../shared/direct-invitation.ts";
import type { DirectRelation } from "../shared/operations/direct.ts";
import type { Agent } from "./agent.ts";
import { freePort } from "./free-port.ts";
import { next } from "./script.ts";
import type { DemoSession, Home, Screen } from "./session.ts";

/**
 * Between the steps, so that people can follow; and before the first, so that they can open both
 * windows.
 */
const PAUSE_MS = 2000;
const CURTAIN_MS = 10_000;
const PATIENCE_MS = 60_000;
const LOOK_MS = 100;

const MEASUREMENTS = ["run;seconds", "1;4.21", "2;4.19", "3;9.87", ""].join("\n");

const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();

/** Looks again and again until there is something; after Ctrl-C it gives up. */
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

async function relationAt(
  { client, group_id: groupId }: Home,
  id: string,
): Promise<DirectRelation | undefined> {
  const { relations } = await client.result("connect_direct_status", { group_id: groupId });
  return relations.find((relation) => relation.id === id);
}

/** Everything one side needs to write to the other. */
interface Side {
  home: Home;
  agent: Agent;
  instance_id: string;
}

/** The two sides and what the steps share. */
class Play {
  readonly #office: Side;
  readonly #lab: Side;
  readonly #screen: Screen;
  readonly #interrupted: AbortSignal;
  readonly #pause: () => Promise<void>;

  constructor(
    sides: { office: Side; lab: Side },
    { screen, interrupted, pause }: { screen: Screen; interrupted: AbortSignal; pause: () => Promise<void> },
  ) {
    this.#office = sides.office;
    this.#lab = sides.lab;
    this.#screen = screen;
    this.#interrupted = interrupted;
    this.#pause = pause;
  }

  async run(): Promise<void> {
    const id = await this.#connect();
    await this.#exchange();
    await this.#withdraw();
    await this.#end(id);
  }

  async #connect(): Promise<string> {
    const { home: office } = this.#office;
    const { home: lab } = this.#lab;
    const at = `127.0.0.1:${await freePort()}`;
    const listener = { bind: at, address: at };
    await office.client.result("connect_direct_configure", { listener, display_name: "office" });
    await lab.client.result("connect_direct_configure", { listener: null, display_name: "lab" });
    const { invitation } = await office.client.result("connect_direct_invite", { group_id: office.group_id });
    this.#say(`The office listens on ${at} and invites a Group of another instance.`);
    await this.#pause();
    const from = invitationClaims(invitation)?.host.name ?? "";
    const { id } = await lab.client.result("connect_direct_join", { group_id: lab.group_id, invitation });
    this.#say(`The lab takes the invitation of "${from}" and asks to be connected.`);
    const came = await this.#until("the lab at the office", async () => {
      const relation = await relationAt(office, id);
      return relation?.state === "pending" && relation;
    });
    const asked = await relationAt(lab, id);
    const words = [came, asked].map((one) => (one ? relationWords(sha256, one)?.join(" ") : undefined));
    this.#say(`Both people see the same six words: ${words[0] === words[1] ? words[0] : "no, they differ"}`);
    await this.#pause();
    await office.client.result("connect_direct_approve", { group_id: office.group_id, id });
    this.#say("The office approves.");
    for (const home of [office, lab])
      await this.#until("the connection", async () => (await relationAt(home, id))?.online === true);
    for (const [one, other] of [
      [this.#office, this.#lab],
      [this.#lab, this.#office],
    ] as const)
      await this.#until("the other side's Actors", () => this.#knows(one, other));
    this.#say("Online: each side knows the other's Actors.");
    return id;
  }

  async #knows({ home }: Side, other: Side): Promise<boolean> {
    const found = await home.client.result("connect_catalog", {
      group_id: home.group_id,
      instance_id: other.instance_id,
      target_group_id: other.home.group_id,
    });
    return "catalog" in found && found.catalog !== null;
  }

  async #exchange(): Promise<void> {
    await this.#pause();
    const { agent: officeLead } = this.#office;
    const { agent: labLead } = this.#lab;
    await officeLead.tool("svc_bootstrap");
    await labLead.tool("svc_bootstrap");
    await officeLead.tool("svc_connect");
    await officeLead.tool("svc_file_send", {
      ...this.#address(this.#lab),
      paths: ["measurements.csv"],
      message_mode: "request_reply",
      text: "The third run took **twice as long**. Does your rig show the same?",
      idempotency_key: "demo-ask-lab",
    });
    this.#say("The office's lead asks the lab's lead, with measurements.csv.");
    const asked = await next(labLead, null);
    await labLead.tool("svc_file", { event_id: asked.event.id });
    await this.#pause();
    await labLead.tool("svc_message_reply", {
      event_id: asked.event.id,
      text: "Yes: the fan was off in run 3. Here it is the same.",
    });
    await next(officeLead, null);
    this.#say("The lab's lead reads the file and answers; the answer is back at the office.");
  }

  async #withdraw(): Promise<void> {
    await this.#pause();
    const { home } = this.#office;
    const { group_id: groupId } = home;
    const { source_event: sourceEvent } = await home.client.result("connect_send", {
      group_id: groupId,
      instance_id: this.#lab.instance_id,
      target_group_id: this.#lab.home.group_id,
      client_id: "demo-request",
      to: ["lead"],
      message_mode: "request_reply",
      text: "Please repeat run 3 with the fan on.",
    });
    const eventId = sourceEvent.id;
    await this.#until(
      "the receipt",
      async () => (await this.#status(eventId))?.connect_delivery?.state === "sent",
    );
    this.#say("The office's person asks for another run: delivered.");
    await this.#pause();
    await home.client.result("reply_request_cancel", { group_id: groupId, event_id: eventId });
    await this.#until(
      "the withdrawal's receipt",
      async () => (await this.#status(eventId))?.connect_cancellation?.state === "sent",
    );
    this.#say("It withdraws the request; the lab knows that nobody waits for it any more.");
  }

  async #status(eventId: string) {
    const { client, group_id: groupId } = this.#office.home;
    const { statuses } = await client.result("ledger_statuses", { group_id: groupId, event_ids: [eventId] });
    return statuses[eventId];
  }

  async #end(id: string): Promise<void> {
    await this.#pause();
    const { home } = this.#office;
    await home.client.result("connect_direct_revoke", { group_id: home.group_id, id });
    await this.#until(
      "the end at the lab",
      async () => (await relationAt(this.#lab.home, id))?.state === "revoked",
    );
    this.#say("The office revokes the connection; the lab has learned it.");
    const { home: lab } = this.#lab;
    const refused = await lab.client.call("connect_send", {
      group_id: lab.group_id,
      instance_id: this.#office.instance_id,
      target_group_id: home.group_id,
      client_id: "demo-late",
      to: ["lead"],
      text: "One more thing",
    });
    this.#say(
      `A message of the lab is refused now: ${refused.ok ? "no, it was taken" : refused.error.code}.`,
    );
  }

  #address({ instance_id: instanceId, home }: Side) {
    return { dst_instance_id: instanceId, dst_group_id: home.group_id, to: ["lead"] };
  }

  #until<Value>(what: string, look: () => Promise<Value | null | undefined | false>): Promise<Value> {
    return until(what, this.#interrupted, look);
  }

  #say(text: string): void {
    this.#screen.line(`  ${text}`);
  }
}

async function side(home: Home, title: string, files: Readonly<Record<string, string>>): Promise<Side> {
  await home.open(title, files);
  const agent = await home.agent("lead", "");
  const { instance_id: instanceId } = await home.client.result("daemon_status", {});
  return { home, agent, instance_id: instanceId };
}

/** Answers the exit code. */
export async function connectionDemo(
  { home, interrupted, ended }: DemoSession,
  exit: boolean,
  screen: Screen,
): Promise<number> {
  const [office, lab] = await Promise.all([
    side(home("office"), "Office", { "measurements.csv": MEASUREMENTS }),
    side(home("lab"), "Lab", {}),
  ]);
  screen.line("Two instances. Watch both, in two windows (each link works once, for 5 minutes):");
  screen.line(`  office  ${await office.home.link()}`);
  screen.line(`  lab     ${await lab.home.link()}`);
  screen.line();
  if (!exit) {
    screen.line(`It begins in ${CURTAIN_MS / 1000} seconds.`);
    await Promise.race([delay(CURTAIN_MS), ended]);
  }
  const begun = performance.now();
  const pause = () => delay(exit ? 0 : PAUSE_MS);
  const play = new Play({ office, lab }, { screen, interrupted, pause }).run();
  play.catch(() => undefined);
  await Promise.race([play, ended]);
  if (interrupted.aborted) return 0;
  screen.line();
  screen.line(`Done in ${Math.round((performance.now() - begun) / 1000)} seconds.`);
  if (exit) return 0;
  screen.line("Both Workbenches stay open until you press Ctrl-C; then the demo's Homes are removed.");
  await ended;
  return 0;
}
