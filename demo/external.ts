/**
 * `svc demo --external`: an account service with two members and an instance of each. It shows how
 * both are linked, how one Group of each is connected, a message with a file, an answer, and the
 * end of the connection. Visible in two browser windows, done in under a minute.
 */
import { ask, linked, rename } from "./account.ts";
import type { Member, Service } from "./service.ts";
import { exchange, lateMessage, meet, type Side, type Sides, type Stage } from "./sides.ts";

/** The play on the two sides. */
export async function externalPlay(service: Service, sides: Sides, stage: Stage): Promise<void> {
  const { office, lab } = sides;
  stage.say(
    `The account service is at ${service.origin}. Sign in there as Ann in one browser and as Ben in another to watch it too.`,
  );
  const [ann, ben] = await Promise.all([service.member("Ann"), service.member("Ben")]);
  await stage.pause();
  await Promise.all([admitted(office, ann, service, stage), admitted(lab, ben, service, stage)]);
  stage.say("The office belongs to Ann's account, and the lab to Ben's. They don't know each other.");
  await stage.pause();
  await ann.invite(await selected(office), await ben.memberId());
  stage.say("Ann selects the office's Group, and invites Ben by his member id on the account's page.");
  await stage.pause();
  const invitation = await ben.invitation();
  await ben.accept(await selected(lab, invitation), invitation);
  stage.say("Ben sees who invites him, selects the lab's Group, and accepts on the account's page.");
  // Each learns of it at its next refresh, which a new name brings about.
  await renamed(sides);
  const endPage = await stage.until("the connection", () => connection(office));
  await stage.until("the connection", () => connection(lab));
  await meet(sides, stage);
  await exchange(sides, stage);
  await stage.pause();
  await ann.end(endPage);
  await renamed(sides);
  stage.say("Ann ends the connection on the account's page.");
  stage.say(`A message of the lab is refused now: ${await lateMessage(lab, office)}.`);
}

async function admitted(side: Side, member: Member, service: Service, stage: Stage): Promise<void> {
  await member.approve(await ask(side, service));
  await linked(side, stage);
}

/** The page on which the member goes on with the side's Group. */
async function selected({ home }: Side, invitation?: string): Promise<string> {
  const input = { group_id: home.group_id, ...(invitation === undefined ? {} : { invitation }) };
  return (await home.client.result("connect_group_select", input)).url;
}

/** The page that ends the side's connection, once the account service has confirmed it. */
async function connection({ home }: Side): Promise<string | null> {
  const { links } = await home.client.result("connect_group_status", { group_id: home.group_id });
  return links[0]?.end_url ?? null;
}

function renamed({ office, lab }: Sides) {
  return Promise.all([rename(office, "Office"), rename(lab, "Lab")]);
}
