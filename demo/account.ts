/**
 * `svc demo --account`: an account service and two Homes on this machine. It shows how both are
 * linked and list each other, a message with a file, an answer, and a retirement. Visible in two
 * browser windows, done in under a minute.
 */
import type { Service } from "./service.ts";
import { exchange, lateMessage, meet, type Side, type Sides, type Stage } from "./sides.ts";

const MEMBER = "Ann";

/** The play on the two sides. */
export async function accountPlay(service: Service, sides: Sides, stage: Stage): Promise<void> {
  const { office, lab } = sides;
  stage.say(`The account service is at ${service.origin}. Sign in there as ${MEMBER} to watch it too.`);
  const ann = await service.member(MEMBER);
  await stage.pause();
  const asked = { office: await ask(office, service), lab: await ask(lab, service) };
  stage.say(`The office asks to be linked and shows the code ${asked.office}; the lab shows ${asked.lab}.`);
  await stage.pause();
  await ann.approve(asked.office);
  await ann.approve(asked.lab);
  for (const { home } of [office, lab])
    await stage.until(
      "the link",
      async () => (await home.client.result("account_show", {})).state === "linked",
    );
  stage.say(`${MEMBER} compares both codes on the account's page and lets the machines in.`);
  await stage.pause();
  // Each learns about the other, with its name, at its next refresh, which naming brings about.
  await rename(lab, "Lab");
  await rename(office, "Office");
  await rename(lab, "Lab");
  stage.say(`The office lists the machines of the account: ${(await listed(office)).join(", ")}.`);
  await meet(sides, stage);
  await exchange(sides, stage);
  await stage.pause();
  const { device_id: device } = await lab.home.client.result("account_show", {});
  await ann.retire(device ?? "");
  await rename(office, "Office");
  stage.say(
    `${MEMBER} retires the lab on the account's page. The office lists: ${(await listed(office)).join(", ")}.`,
  );
  stage.say(`A message of the office is refused now: ${await lateMessage(office, lab)}.`);
}

/**
 * Asks the account service to let the instance in, under the origin `name` or that of its Web
 * listener. Answers the code that it shows.
 */
export async function ask({ home }: Pick<Side, "home">, service: Service, name?: string): Promise<string> {
  const origin = name ?? (await home.client.result("daemon_status", {})).web_origin;
  await home.client.result("remote_access_set", { origin });
  const { user_code: code } = await home.client.result("account_link", { account_origin: service.origin });
  return code;
}

/** Waits until the instance, which a member let in, knows the instances of the account. */
export async function linked({ home }: Pick<Side, "home">, stage: Pick<Stage, "until">): Promise<void> {
  await stage.until("the directory", async () => {
    const { connect } = await home.client.result("connect_status", {});
    return connect?.directory ?? null;
  });
}

/** Gives the instance a name, which makes it ask the account service at once. */
export function rename({ home }: Pick<Side, "home">, name: string) {
  return home.client.result("connect_rename", { by: "user", display_name: name });
}

async function listed({ home }: Side): Promise<string[]> {
  const { connect } = await home.client.result("connect_status", {});
  return (connect?.directory?.instances ?? []).map((instance) => instance.display_name).sort();
}
