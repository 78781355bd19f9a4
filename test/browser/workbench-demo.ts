/**
 * `npm run demo:workbench [-- --headed]`: an account service and three instances, each with a name
 * of its own below localhost and a certificate of a throw-away authority. One window of a real
 * browser shows the Groups of all three; the script works in a remote one inside the page, and ends
 * an instance. --headed shows the window and leaves time to follow. Done in under a minute.
 */
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import { ask, linked, rename } from "../../demo/account.ts";
import type { Agent } from "../../demo/agent.ts";
import { freePort } from "../../demo/free-port.ts";
import { next } from "../../demo/script.ts";
import type { Service } from "../../demo/service.ts";
import { type DemoSession, type Home, inSession } from "../../demo/session.ts";
import { type Stage, stageOf } from "../../demo/sides.ts";
import { TestAuthority } from "../support/certificates.ts";
import { SVC } from "../support/daemon-process.ts";
import { InstancesWindow, underName } from "./instances-window.ts";
import { launchBrowser } from "./setting.ts";

const MEMBER = "Ann";
const QUESTION = "Does the rig still show the **third run** taking twice as long?";
const ANSWER = "No. The fan was off in run 3. With it on, all three agree within 1 %.";

/** An instance of the account, with a name of its own. */
interface Machine {
  name: string;
  origin: string;
  home: Home;
  agent: Agent;
}

async function machine(
  { home }: DemoSession,
  authority: TestAuthority,
  name: string,
  title: string,
): Promise<Machine> {
  const host = `${name.toLowerCase()}.localhost`;
  const { cert, key } = authority.issue(host);
  const port = await freePort();
  const environment = {
    SVC_TLS_CERT: cert,
    SVC_TLS_KEY: key,
    NODE_EXTRA_CA_CERTS: authority.certificate,
  };
  const own = home(name.toLowerCase(), { port, environment });
  await own.open(title, {});
  return { name, origin: `https://${host}:${port}`, home: own, agent: await own.agent("lead", "") };
}

/** A one-time link that signs in under the instance's own name. */
async function linkTo({ home, origin }: Machine): Promise<string> {
  return underName(await home.link(), origin);
}

async function play(machines: readonly Machine[], service: Service, page: Page, stage: Stage) {
  const [office, lab, studio] = machines as [Machine, Machine, Machine];
  stage.say(`The account service is at ${service.origin}.`);
  const ann = await service.member(MEMBER);
  const codes = await Promise.all(machines.map((one) => ask(one, service, one.origin)));
  for (const code of codes) await ann.approve(code);
  for (const one of machines) await linked(one, stage);
  // The last name that is given reaches the office with the next question to the service.
  for (const one of machines.toReversed()) await rename(one, one.name);
  stage.say(`${MEMBER} has linked three instances: ${machines.map(({ origin }) => origin).join(", ")}.`);

  const window = new InstancesWindow(page);
  await window.open(await linkTo(office), [lab.name, studio.name]);
  stage.say("She opens the Workbench of the office. It lists the lab and the studio below its own Groups.");
  await stage.pause();
  await window.signIn(studio.name, await linkTo(studio), "Website");
  stage.say("She chooses the studio and signs in there, inside the page.");
  await stage.pause();
  await window.signIn(lab.name, await linkTo(lab), "Measurements");
  await window.onlyPageOf(lab.origin);
  await window.showSaved(studio.name);
  stage.say(`The same at the lab. One list has the Groups of all: ${(await window.titles()).join(", ")}.`);
  await stage.pause();

  const asked = next(lab.agent, null);
  await window.write("inside", QUESTION);
  const { event } = await asked;
  await lab.agent.tool("svc_message_reply", { event_id: event.id, message_mode: "send", text: ANSWER });
  await window.read("inside", ANSWER);
  stage.say("She asks the lab's lead inside the page. Its answer is there.");
  await stage.pause();

  await lab.home.close();
  stage.say(`The lab's daemon is ended. The page says: ${await window.refusal(lab.name)}.`);
  await stage.pause();
  await window.showOwn("Release 2.4");
  await window.write("here", "The lab is away. We go on without it.");
  await window.show(studio.name, "Website");
  await window.write("inside", "Please publish the new page.");
  stage.say("Nothing else is lost: she writes in the office's own Group, and in the studio's.");
  await stage.pause();
}

const screen = { line: (text = "") => console.log(text) };
const flags = parsedFlags();

function parsedFlags(): { headed: boolean } {
  try {
    return parseArgs({ options: { headed: { type: "boolean", default: false } } }).values;
  } catch (error) {
    console.error(`${(error as Error).message}\nUsage: npm run demo:workbench -- [--headed]`);
    process.exit(2);
  }
}

async function demo(session: DemoSession, authority: TestAuthority): Promise<number> {
  const stage = stageOf(screen, session.interrupted, flags.headed);
  const service = session.service();
  const [, ...machines] = await Promise.all([
    service.open(),
    machine(session, authority, "Office", "Release 2.4"),
    machine(session, authority, "Lab", "Measurements"),
    machine(session, authority, "Studio", "Website"),
  ]);
  const trusted = machines.map(({ origin }) => authority.keyHash(new URL(origin).hostname));
  const browser = await launchBrowser({ whole: true, headed: flags.headed, trusted, endsInOrder: true });
  try {
    const begun = performance.now();
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const played = play(machines, service, page, stage);
    // After Ctrl-C nothing waits for the rest.
    played.catch(() => undefined);
    await Promise.race([played, session.ended]);
    if (session.interrupted.aborted) return 0;
    screen.line();
    screen.line(`Done in ${Math.round((performance.now() - begun) / 1000)} seconds.`);
    return 0;
  } finally {
    await browser.close();
  }
}

const { DISPLAY, WAYLAND_DISPLAY } = process.env;
if (flags.headed && process.platform === "linux" && DISPLAY === undefined && WAYLAND_DISPLAY === undefined) {
  console.error("This machine has no display for a window. Run the demo without --headed.");
  process.exit(1);
}
const authority = new TestAuthority();
// Also after a second Ctrl-C, which ends the demo at once.
process.once("exit", () => authority.remove());
process.exitCode = await inSession((session) => demo(session, authority), SVC);
