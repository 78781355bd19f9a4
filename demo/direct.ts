/**
 * `svc demo --direct`: two Homes on this machine play two instances. It shows an invitation, six
 * words, an approval, then a message with a file, an answer, a request and its withdrawal, and the
 * end of the connection. Visible in two browser windows, done in under a minute.
 */
import { createHash } from "node:crypto";
import { invitationClaims, relationWords } from "../shared/direct-invitation.ts";
import type { DirectRelation } from "../shared/operations/direct.ts";
import { freePort } from "./free-port.ts";
import type { Home } from "./session.ts";
import { exchange, lateMessage, meet, type Side, type Sides, type Stage } from "./sides.ts";

const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();

async function relationAt(
  { client, group_id: groupId }: Home,
  id: string,
): Promise<DirectRelation | undefined> {
  const { relations } = await client.result("connect_direct_status", { group_id: groupId });
  return relations.find((relation) => relation.id === id);
}

/** The play on the two sides. */
export async function connectionPlay(sides: Sides, stage: Stage): Promise<void> {
  const id = await connect(sides, stage);
  await meet(sides, stage);
  await exchange(sides, stage);
  await withdraw(sides, stage);
  await end(sides, stage, id);
}

/** Answers the connection's id. */
async function connect(
  { office: { home: office }, lab: { home: lab } }: Sides,
  stage: Stage,
): Promise<string> {
  const at = `127.0.0.1:${await freePort()}`;
  const listener = { bind: at, address: at };
  await office.client.result("connect_direct_configure", { listener, display_name: "office" });
  await lab.client.result("connect_direct_configure", { listener: null, display_name: "lab" });
  const { invitation } = await office.client.result("connect_direct_invite", { group_id: office.group_id });
  stage.say(`The office listens on ${at} and invites a Group of another instance.`);
  await stage.pause();
  const from = invitationClaims(invitation)?.host.name ?? "";
  const { id } = await lab.client.result("connect_direct_join", { group_id: lab.group_id, invitation });
  stage.say(`The lab takes the invitation of "${from}" and asks to be connected.`);
  const came = await stage.until("the lab at the office", async () => {
    const relation = await relationAt(office, id);
    return relation?.state === "pending" && relation;
  });
  const asked = await relationAt(lab, id);
  const words = [came, asked].map((one) => (one ? relationWords(sha256, one)?.join(" ") : undefined));
  stage.say(`Both people see the same six words: ${words[0] === words[1] ? words[0] : "no, they differ"}`);
  await stage.pause();
  await office.client.result("connect_direct_approve", { group_id: office.group_id, id });
  stage.say("The office approves.");
  for (const home of [office, lab])
    await stage.until("the connection", async () => (await relationAt(home, id))?.online === true);
  return id;
}

async function withdraw({ office, lab }: Sides, stage: Stage): Promise<void> {
  await stage.pause();
  const { home } = office;
  const { group_id: groupId } = home;
  const { source_event: sourceEvent } = await home.client.result("connect_send", {
    group_id: groupId,
    instance_id: lab.instance_id,
    target_group_id: lab.home.group_id,
    client_id: "demo-request",
    to: ["lead"],
    message_mode: "request_reply",
    text: "Please repeat run 3 with the fan on.",
  });
  const eventId = sourceEvent.id;
  await stage.until(
    "the receipt",
    async () => (await statusAt(office, eventId))?.connect_delivery?.state === "sent",
  );
  stage.say("The office's person asks for another run: delivered.");
  await stage.pause();
  await home.client.result("reply_request_cancel", { group_id: groupId, event_id: eventId });
  await stage.until(
    "the withdrawal's receipt",
    async () => (await statusAt(office, eventId))?.connect_cancellation?.state === "sent",
  );
  stage.say("It withdraws the request; the lab knows that nobody waits for it any more.");
}

async function statusAt({ home }: Side, eventId: string) {
  const { client, group_id: groupId } = home;
  const { statuses } = await client.result("ledger_statuses", { group_id: groupId, event_ids: [eventId] });
  return statuses[eventId];
}

async function end({ office, lab }: Sides, stage: Stage, id: string): Promise<void> {
  await stage.pause();
  const { home } = office;
  await home.client.result("connect_direct_revoke", { group_id: home.group_id, id });
  await stage.until("the end at the lab", async () => (await relationAt(lab.home, id))?.state === "revoked");
  stage.say("The office revokes the connection; the lab has learned it.");
  stage.say(`A message of the lab is refused now: ${await lateMessage(lab, office)}.`);
}
