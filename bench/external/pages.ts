/** The pages of a member with many connections that have ended, beside those of one with few. */
import { randomUUID } from "node:crypto";
import { ticketStatement } from "../../shared/wire/v1/signing.ts";
import { encoded } from "../../test/account/group-instance.ts";
import { compare, interleave, type Measurement } from "../figure.ts";
import { bytesFile, httpRequest, load } from "../native.ts";
import { clock, Issuer, type Linked, sourceOf } from "./issuer.ts";

const SELECTION = "selection page with 1,000 closed records, time";
const LIST = "page of connections with 1,000 closed records, time";
const CLOSED = 1000;
/** As many as the page shows. */
const FEW = 100;
const HOUR_MS = 3_600_000;

/** Both pages in one run: requests at eight connections, in turn. */
export const pages: Measurement = {
  figures: [SELECTION, LIST],
  async run({ short }) {
    const issuer = await Issuer.open();
    try {
      const [none, few, many, other] = [
        await issuer.linked("Ann"),
        await issuer.linked("Dora"),
        await issuer.linked("Ben"),
        await issuer.linked("Carla"),
      ];
      for (const [member, count] of [
        [few, FEW],
        [many, CLOSED],
      ] as const) {
        await issuer.connect(member, other, count / 2, clock.now());
        await invitations(issuer, member, other, count / 2);
      }
      const requests = short ? 100 : 2000;
      const { host } = new URL(issuer.service.origin);
      const time = (member: Linked, path: string) => async () =>
        1000 /
        (await load({
          socket: issuer.port,
          protocol: "http",
          connections: 8,
          warmup: requests / 10,
          requests,
          request: bytesFile("page", httpRequest("GET", path, { host, cookie: cookiesOf(member) })),
        }));
      const both = async (
        name: string,
        pathOf: (member: Linked) => string,
        against: Linked,
        what: string,
      ) => {
        const times = await interleave(short ? 2 : 7, {
          many: time(many, pathOf(many)),
          against: time(against, pathOf(against)),
        });
        return compare({
          name,
          unit: "ms",
          value: times.many,
          against: what,
          against_value: times.against,
          goal: 1.2,
          floor: 1.5,
          better: "lower",
        });
      };
      const selecting = (member: Linked) =>
        `/connect/select?ticket=${encoded(ticketOf(issuer.service.origin, member))}`;
      return [
        await both(SELECTION, selecting, none, "the same without any"),
        await both(LIST, () => "/connect", few, "the same with the 100 that it shows"),
      ];
    } finally {
      await issuer.close();
    }
  },
};

function cookiesOf({ browser }: Linked): string {
  return [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
}

/** The other half of what has ended. */
async function invitations(issuer: Issuer, from: Linked, to: Linked, count: number): Promise<void> {
  const now = clock.now();
  const rows = Array.from({ length: count }, (_, index) => ({
    id: randomUUID(),
    ...sourceOf(from, index),
    ticket: "{}",
    recipient_member: to.member_id,
    created_at: now,
    expires_at: now,
    state: "cancelled" as const,
    closed_at: now,
    connection_id: null,
  }));
  await issuer.store.db.insertInto("group_invitations").values(rows).execute();
}

function ticketOf(accountOrigin: string, { member_id: memberId, device, instance }: Linked) {
  const now = clock.now();
  const fields = {
    account_origin: accountOrigin,
    account_id: memberId,
    instance_id: instance.instance_id,
    instance_name: "A machine",
    device_id: device.id,
    group_id: "g_selected",
    group_generation: "1",
    title: "A Group",
    issued_at: new Date(now).toISOString(),
    expires_at: new Date(now + HOUR_MS).toISOString(),
  };
  const material = ticketStatement.material(fields);
  return { ...fields, signature: instance.signText(Buffer.from(material).toString("utf8")) };
}
