/**
 * How long a connection to another account goes on after a member has ended it: until both daemons
 * refuse messages to the other Group. Nothing hastens them, so that each learns of it at its next
 * question to the account service.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Member } from "../../demo/service.ts";
import { until } from "../connect/direct.ts";
import { type Daemon, makeGroup, startDaemon } from "../daemon.ts";
import { compare, type Measurement } from "../figure.ts";
import { Issuer } from "./issuer.ts";

const NAME = "external connection ended to refused on both sides, longest of 8, time";
const CONNECTIONS = 8;
/** The connections end at times that are spread over the minute between two questions. */
const SPREAD_MS = 60_000;
/** What the specification allows (EXT-029). */
const LEASE_SECONDS = 120;
const LOOK_MS = 50;
const PATIENCE_MS = 180_000;

interface Side {
  daemon: Daemon;
  member: Member;
}
type Groups = readonly [own: string, other: string];

export const ending: Measurement = {
  figures: [NAME],
  async run({ short }) {
    const issuer = await Issuer.open();
    const sides: Side[] = [];
    try {
      for (const name of ["Ann", "Ben"]) {
        const side = { daemon: await startDaemon(), member: await issuer.service.member(name) };
        sides.push(side);
        await link(side, issuer);
      }
      const [ann, ben] = [sides[0]!, sides[1]!];
      const pairs: Groups[] = [];
      for (let made = 0; made < (short ? 1 : CONNECTIONS); made += 1)
        pairs.push([await makeGroup(ann.daemon), await makeGroup(ben.daemon)]);
      const recipient = await ben.member.memberId();
      for (const pair of pairs) await connect(ann, ben, recipient, pair);
      // A daemon that waits for a connection asks more often. A started one doesn't wait.
      if (!short) for (const side of sides) await restart(side);
      const ids = await instanceIds(sides);
      for (const [at, pair] of pairs.entries()) await known(sides, pair, at);
      const seconds = await Promise.all(
        pairs.map(async (pair, at) => {
          await delay(short ? 0 : (at * SPREAD_MS) / CONNECTIONS);
          return ended(sides, ids, pair);
        }),
      );
      return [
        compare({
          name: NAME,
          unit: "s",
          value: Math.max(...seconds),
          against: "the longest that an answer may be used",
          against_value: LEASE_SECONDS,
          goal: 0.56,
          floor: 1,
          better: "lower",
        }),
      ];
    } finally {
      await Promise.all(sides.map(({ daemon }) => daemon.stop()));
      await issuer.close();
    }
  },
};

/** By the way that people go: the device's code on the account's page. */
async function link({ daemon, member }: Side, issuer: Issuer): Promise<void> {
  await announced(daemon);
  const { user_code: code } = await daemon.client.result("account_link", {
    account_origin: issuer.service.origin,
  });
  await member.approve(code);
  await directory(daemon);
}

/** Other instances reach it at its Web listener. */
async function announced({ client }: Daemon): Promise<void> {
  const { web_origin: origin } = await client.result("daemon_status", {});
  await client.result("remote_access_set", { origin });
}

async function directory({ client }: Daemon): Promise<void> {
  await until("the directory", async () => {
    const { connect } = await client.result("connect_status", {});
    return connect?.directory ?? null;
  });
}

async function restart(side: Side): Promise<void> {
  const { home } = side.daemon;
  await side.daemon.stop();
  side.daemon = await startDaemon({}, home);
  await announced(side.daemon);
}

async function connect(ann: Side, ben: Side, recipient: string, [own, other]: Groups): Promise<void> {
  const select = async ({ daemon }: Side, groupId: string, invitation?: string) => {
    const input = { group_id: groupId, ...(invitation === undefined ? {} : { invitation }) };
    return (await daemon.client.result("connect_group_select", input)).url;
  };
  await ann.member.invite(await select(ann, own), recipient);
  const invitation = await ben.member.invitation();
  await ben.member.accept(await select(ben, other, invitation), invitation);
}

async function instanceIds(sides: readonly Side[]): Promise<string[]> {
  return Promise.all(
    sides.map(async ({ daemon }) => (await daemon.client.result("daemon_status", {})).instance_id),
  );
}

/** Both daemons know the connection of the pair. */
async function known(sides: readonly Side[], pair: Groups, at: number): Promise<void> {
  for (const [side, { daemon }] of sides.entries()) {
    await until(`connection ${at}`, async () => {
      const { links } = await daemon.client.result("connect_group_status", { group_id: pair[side]! });
      return links[0] ?? null;
    });
  }
}

/** Ends the connection by its page. Seconds until neither side takes a message for the other. */
async function ended(sides: readonly Side[], ids: readonly string[], pair: Groups): Promise<number> {
  const [ann] = sides;
  const { links } = await ann!.daemon.client.result("connect_group_status", { group_id: pair[0] });
  await ann!.member.end(links[0]!.end_url);
  const begun = performance.now();
  await Promise.all(
    sides.map(async ({ daemon }, own) => {
      const other = 1 - own;
      const to = { instance_id: ids[other]!, target_group_id: pair[other]! };
      const look = { group_id: pair[own]!, ...to };
      while ((await daemon.client.call("connect_catalog", look)).ok) {
        if (performance.now() - begun > PATIENCE_MS) throw new Error("it was never refused");
        await delay(LOOK_MS);
      }
      const message = { ...look, client_id: `bench-${pair[own]}`, text: "Too late", to: ["agent"] };
      const refused = await daemon.client.call("connect_send", message);
      if (refused.ok) throw new Error("a message was taken although the connection had ended");
    }),
  );
  return (performance.now() - begun) / 1000;
}
