/**
 * Both members answer, end and retire, are removed, and lose their Group at the same moment, on
 * PostgreSQL at two services. What comes out is always what some order of the same steps gives.
 * WITHSTAND_ROUNDS sets how often.
 */
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { Audit } from "../../account/audit.ts";
import { Connections } from "../../account/connections/connections.ts";
import { Links } from "../../account/connections/links.ts";
import { Devices } from "../../account/devices/devices.ts";
import { Operator } from "../../account/operator.ts";
import { openStore, type Store } from "../../account/store/store.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { Refusal } from "../../shared/errors.ts";
import type { ConnectGroupTicket } from "../../shared/wire/v1/proofs.ts";
import { KINDS, TestService } from "../account/service.ts";
import { verifies } from "../requirements.ts";
import { type Chance, withSeed } from "../support/chance.ts";

const GIVEN = Number(process.env["WITHSTAND_ROUNDS"] ?? "0");
const ROUNDS = GIVEN > 0 ? { sqlite: GIVEN, postgres: GIVEN } : { sqlite: 300, postgres: 100 };
const ENDS = [0, 1] as const;
type End = (typeof ENDS)[number];

/**
 * An invitation by `end` or its answer; the end of a connection, or the report of an instance that
 * its Group is gone; an invitation whose Group is found gone; a retired device or removed member.
 */
type Step =
  | { does: "accept" | "cancel" | "reject" | "drop"; end: End }
  | { does: "end" | "report"; end: End; connection: number }
  | { does: "retire" | "remove"; end: End };

/** What the store may say afterwards. Connections are numbered as they come about. */
interface Model {
  invitations: { state: string; connection: number | null }[];
  closed: boolean[];
  retired: boolean[];
}

type Found = Pick<Model, "invitations" | "closed">;

/** What one step does to the model. Answers what its caller is told. */
function apply(model: Model, step: Step): string {
  const { end } = step;
  const active = model.closed.indexOf(false);
  if (step.does === "retire" || step.does === "remove") {
    const ofMember = model.invitations.filter((_, by) => by === end || step.does === "remove");
    if (step.does === "retire" && model.retired[end]!) return "ok";
    model.retired[end] = true;
    if (active !== -1) model.closed[active] = true;
    for (const invitation of ofMember) if (invitation.state === "pending") invitation.state = "gone";
    return "ok";
  }
  const invitation = model.invitations[end]!;
  if (step.does === "end" || step.does === "report") {
    model.closed[step.connection] = true;
    // Whoever ends it takes back what they still offer.
    if (step.does === "end" && invitation.state === "pending") invitation.state = "cancelled";
    return "ok";
  }
  if (step.does !== "accept") {
    const to = { cancel: "cancelled", reject: "rejected", drop: "gone" }[step.does];
    if (invitation.state === "pending") invitation.state = to;
    return "ok";
  }
  if (invitation.state === "accepted" && invitation.connection === active && active !== -1) return "ok";
  if (invitation.state !== "pending" || model.retired.includes(true)) return "connect_group_denied";
  if (active === -1) model.closed.push(false);
  Object.assign(invitation, { state: "accepted", connection: model.closed.indexOf(false) });
  return "ok";
}

function orders<Item>(items: readonly Item[]): Item[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, at) => orders(items.toSpliced(at, 1)).map((rest) => [item, ...rest]));
}

for (const kind of KINDS) {
  describe(`connections of two members, everything at once, on ${kind}`, function () {
    this.timeout(600_000);
    let service: TestService;
    let stores: [Store, Store];

    before(async () => {
      service = await TestService.started({ kind });
      const { folder, database } = service.settings;
      // On the embedded database two processes would only wait for each other.
      const second =
        kind === "sqlite" ? service.store : await openStore({ folder, database, log: service.log });
      stores = [service.store, second];
    });
    after(async () => {
      if (stores[1] !== service.store) await stores[1].close();
      await service.dispose();
    });

    it(`come out as some order of the steps, ${ROUNDS[kind]} times`, async () => {
      verifies("EXT-025", "EXT-031", "EXT-032");
      await withSeed(async (chance) => {
        for (let round = 0; round < ROUNDS[kind]; round += 1)
          await once(stores, service.settings, chance.stream(String(round)));
      });
    });
  });
}

async function once(
  stores: readonly Store[],
  settings: TestService["settings"],
  chance: Chance,
): Promise<void> {
  const clock = new RealClock();
  const random = new RealRandom();
  const audit = new Audit(clock, random);
  const { db } = stores[0]!;
  const members = ENDS.map(() => randomUUID());
  const devices = ENDS.map(() => randomUUID());
  await db
    .insertInto("members")
    .values(members.map((id) => ({ id, name: id, is_admin: 0 as const, created_at: 1, disabled_at: null })))
    .execute();
  await db
    .insertInto("devices")
    .values(
      ENDS.map((end) => ({
        id: devices[end]!,
        member_id: members[end]!,
        token_digest: randomUUID(),
        hostname: randomUUID(),
        display_name: null,
        created_at: 1,
        retired_at: null,
      })),
    )
    .execute();
  const tickets = ENDS.map((end) => ticketOf(members[end]!, devices[end]!, chance.name));
  const connections = stores.map((store) => new Connections({ store, clock, random, audit }));
  const operators = stores.map((store) => new Operator({ store, settings, clock, random }));
  const origin = "https://account.example";
  const links = stores.map((store) => new Links({ store, clock, origin }));
  const deviceOf = (end: End) => ({
    id: devices[end]!,
    member: members[end]!,
    hostname: "",
    displayName: null,
    accountLabel: "",
    retired: false,
  });
  const acting = (end: End) => ({ member: members[end]!, address: "192.0.2.1" });
  const other = (end: End): End => (end === 0 ? 1 : 0);
  const invitations: string[] = [];
  for (const end of ENDS) {
    const invitation = await connections[0]!.invite(tickets[end]!, members[other(end)]!, acting(end));
    invitations.push(invitation.id);
  }

  /** Ids of connections, as they came about. */
  const known: string[] = [];
  const perform = async (step: Step): Promise<string> => {
    const at = chance.one([0, 1]);
    const mine = connections[at]!;
    const { end } = step;
    try {
      if (step.does === "retire")
        await new Devices(stores[at]!, clock, audit).retire(members[end]!, devices[end]!, null);
      else if (step.does === "remove") await operators[at]!.disableMember(members[end]!);
      else if (step.does === "report") await links[at]!.invalidate(deviceOf(end), [known[step.connection]!]);
      else if (step.does === "drop") await mine.dropInvitation(invitations[end]!);
      else if (step.does === "end") await mine.end(known[step.connection]!, acting(end));
      else if (step.does === "accept")
        await mine.accept(invitations[end]!, tickets[other(end)]!, acting(other(end)));
      else if (step.does === "cancel")
        await mine.closeInvitation(invitations[end]!, "cancelled", acting(end));
      else await mine.closeInvitation(invitations[end]!, "rejected", acting(other(end)));
      return "ok";
    } catch (error) {
      if (error instanceof Refusal) return error.code;
      throw error;
    }
  };

  let model: Model = {
    invitations: ENDS.map(() => ({ state: "pending", connection: null })),
    closed: [],
    retired: [false, false],
  };
  for (let phase = 0; phase < 2; phase += 1) {
    const steps = Array.from({ length: chance.one([2, 3, 4]) }, (): Step => {
      const end = chance.one(ENDS);
      const does = chance.one([
        "accept",
        "accept",
        "accept",
        "accept",
        "cancel",
        "reject",
        "drop",
        "end",
        "report",
        "retire",
        "remove",
      ] as const);
      if (does !== "end" && does !== "report") return { does, end };
      return known.length === 0 ? { does: "accept", end } : { does, end, connection: known.length - 1 };
    });
    const told = await Promise.all(steps.map(perform));
    const found = await stateOf(db, members, invitations, known);
    const possible = orders(steps.map((step, at) => ({ step, told: told[at]! }))).flatMap((order) => {
      const next = structuredClone(model);
      return order.every((one) => apply(next, one.step) === one.told) ? [next] : [];
    });
    const match = possible.find((next) => isSame(next, found, model.retired, steps));
    const what = `${chance.name}: ${JSON.stringify({ model, steps, told, found })}`;
    assert.ok(match !== undefined, what);
    assert.ok(found.closed.filter((closed) => !closed).length <= 1, what);
    model = match;
  }
}

function isSame(next: Model, found: Found, before: boolean[], steps: Step[]): boolean {
  const retired = ENDS.map(
    (end) =>
      before[end]! ||
      steps.some(({ does, end: whose }) => (does === "retire" || does === "remove") && whose === end),
  );
  assert.deepEqual(next.retired, retired);
  return summary(next) === summary(found);
}

/** Everything but the order in which connections ended. */
function summary({ invitations, closed }: Found): string {
  const answers = invitations.map(({ state, connection }) => [
    state,
    connection !== null && closed[connection],
  ]);
  const isShared = new Set(invitations.map(({ connection }) => connection)).size === 1;
  return JSON.stringify([answers, isShared, closed.length, closed.includes(false)]);
}

/** What the store holds. The active connection has the highest number. */
async function stateOf(
  db: Store["db"],
  members: readonly string[],
  ids: readonly string[],
  known: string[],
): Promise<Found> {
  const rows = await db
    .selectFrom("group_connections")
    .selectAll()
    .where("source_member", "in", members)
    .orderBy((eb) => eb.case().when("closed_at", "is", null).then(1).else(0).end())
    .execute();
  for (const { id } of rows) if (!known.includes(id)) known.push(id);
  const invitations = await db.selectFrom("group_invitations").selectAll().where("id", "in", ids).execute();
  return {
    invitations: ids.map((id) => {
      const row = invitations.find((one) => one.id === id)!;
      const connection = row.connection_id === null ? null : known.indexOf(row.connection_id);
      return { state: row.state, connection };
    }),
    closed: known.map((id) => rows.find((row) => row.id === id)!.closed_at !== null),
  };
}

/** The classes below the pages look at no signature. */
function ticketOf(member: string, device: string, name: string): ConnectGroupTicket {
  const now = Date.now();
  return {
    account_origin: "https://account.example",
    account_id: member,
    instance_id: `instance of ${device}`,
    instance_name: "Machine",
    device_id: device,
    group_id: "g",
    group_generation: "1",
    title: "Group",
    issued_at: new Date(now).toISOString(),
    expires_at: new Date(now + 3_600_000).toISOString(),
    signature: createHash("sha512").update(`${name} ${device}`).digest("base64"),
  };
}
