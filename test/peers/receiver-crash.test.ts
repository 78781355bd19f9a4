/**
 * Deliveries and withdrawals on a disk that loses power or fails: what was signed is durable, and
 * nothing happens twice.
 */
import assert from "node:assert/strict";
import type { InstanceIdentity } from "../../daemon/home/identity.ts";
import type { Files } from "../../platform/files.ts";
import type { ProjectFiles } from "../../platform/project-files.ts";
import { Refusal } from "../../shared/errors.ts";
import type { ConnectCancellation, ConnectMessage, Receipt } from "../../shared/wire/v1/message.ts";
import { ReceiptResult } from "../../shared/wire/v1/peer.ts";
import { TestHome } from "../messaging/setting.ts";
import { verifies } from "../requirements.ts";
import { enumerateCrashes, enumerateFaults, type Story, without } from "../simulation/crash.ts";
import type { Tree } from "../simulation/crash-states.ts";
import { SimulatedFiles } from "../simulation/files.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { attachment, deliverOperation, MINUTE, newIdentity, sha256, Target } from "./receiver-setting.ts";

const ROOT = "/home";
const START = Date.parse("2026-01-01T00:00:00.000Z");
const FILE = "the file of a message";

const projects: ProjectFiles = {
  canonical: (path) => path,
  isDirectory: () => false,
  ownFolder: () => "/",
  folders: async () => ({ names: [], more: false }),
  gitOrigin: () => null,
  isSamePlace: () => false,
  openBelow: () => assert.fail("no part of these stories"),
};

interface Work {
  /** Delivered with a file, then withdrawn; and one that never comes, withdrawn. */
  message: ConnectMessage;
  absent: ConnectMessage;
  withdrawn: ConnectCancellation;
  kept_out: ConnectCancellation;
}

interface Setting extends Work {
  from: Tree;
  identity: InstanceIdentity;
  peer: InstanceIdentity;
  group_id: string;
}

/** Receipts that were signed, by what they are for. */
type Witness = Partial<Record<keyof Work, Receipt>>;

function open(files: Files, now: number): Promise<TestHome> {
  const ledgerLimits = { extendBytes: 1024 };
  return TestHome.open({ root: ROOT, files, projects, ledgerLimits, clock: new ManualClock({ start: now }) });
}

async function prepared(): Promise<Setting> {
  const files = new SimulatedFiles();
  const home = await open(files, START);
  const groupId = await home.group("ann");
  const identity = await newIdentity();
  const peer = await newIdentity();
  const target = new Target({ home, identity, peer, way: "account", group_id: groupId });
  const message = target.message({ message_mode: "request_reply", attachments: [attachment(FILE)] });
  const absent = target.message({ message_mode: "request_reply" });
  const withdrawn = target.cancellation(message);
  home.clock.advance(15 * MINUTE);
  const keptOut = target.cancellation(absent);
  await home.close();
  return {
    from: files.tree(),
    identity,
    peer,
    group_id: groupId,
    message,
    absent,
    withdrawn,
    kept_out: keptOut,
  };
}

function storyOf({ identity, peer, group_id: groupId, ...work }: Setting): Story<Witness> {
  const targetOf = (home: TestHome) =>
    new Target({ home, identity, peer, way: "account", group_id: groupId });

  /**
   * The signed receipt, or null for a signed refusal; an unsigned one only while the Group can't be
   * opened.
   */
  async function asked(target: Target, what: "message" | "withdrawn" | "kept_out"): Promise<Receipt | null> {
    const operation =
      what === "message"
        ? deliverOperation(work.message, [FILE])
        : { op: "cancel" as const, cancellation: work[what] };
    const result = await target.ask(operation);
    if (result.ok) return ReceiptResult.parse(result.result).receipt;
    assert.equal(result.error.code, "io_error");
    return null;
  }

  return {
    begin: () => ({}),

    async run(files, witness) {
      const home = await open(files, START + MINUTE).catch(() => null);
      if (home?.registry.find(groupId) === undefined) return;
      const target = targetOf(home);
      for (const what of ["message", "withdrawn", "kept_out"] as const) {
        if (what === "kept_out") home.clock.advance(15 * MINUTE);
        // Without its original a withdrawal has to wait.
        if (what === "withdrawn" && witness.message === undefined) continue;
        try {
          const receipt = await asked(target, what);
          if (receipt !== null) witness[what] = receipt;
        } catch (error) {
          assert.ok(error instanceof Refusal && error.code !== "internal_error", String(error));
        }
      }
      await home.close();
    },

    async check(files, witness) {
      const home = await open(files, START + 2 * MINUTE);
      const target = targetOf(home);
      const { receipt } = await target.receipt(work.message);
      if (witness.message !== undefined)
        assert.deepEqual(receipt, witness.message, "a signed receipt is lost");
      // The peer didn't get its answers and sends everything again, twice.
      for (let round = 0; round < 2; round += 1) {
        const again = await target.deliver(work.message, [FILE]);
        assert.deepEqual(again.receipt, (await target.receipt(work.message)).receipt);
        if (receipt !== null) assert.deepEqual(again.receipt, receipt);
        const control = await target.cancel(work.withdrawn);
        if (witness.withdrawn !== undefined) assert.deepEqual(control.receipt, witness.withdrawn);
      }
      home.clock.advance(15 * MINUTE);
      const keptOut = await target.cancel(work.kept_out);
      if (witness.kept_out !== undefined) assert.deepEqual(keptOut.receipt, witness.kept_out);
      assert.equal(target.messages().length, 1, "a message is there twice, or not at all");
      assert.equal(target.events("chat.reply_request.cancelled").length, 2);
      const parts: Uint8Array[] = [];
      for await (const part of home.messaging.openBlob(groupId, sha256(FILE)).chunks) parts.push(part);
      assert.equal(Buffer.concat(parts).toString(), FILE, "a file isn't whole");
      home.clock.set(-15 * MINUTE);
      const late = await target.ask(deliverOperation(work.absent));
      assert.ok(!late.ok && late.error.code === "connect_message_withdrawn");
      const verified = await home.call("ledger_verify", { group_id: groupId });
      assert.deepEqual(verified.problems, []);
      await home.close();
    },
  };
}

describe("Receiver when the power fails or the disk does", function () {
  this.timeout(300_000);

  it("keeps what it signed, once, at every crash point", async () => {
    verifies("OUT-011", "PEER-037", "CAN-018");
    const setting = await prepared();
    const { points, states, violations } = await enumerateCrashes(storyOf(setting), { from: setting.from });
    assert.deepEqual(violations, []);
    assert.ok(points > 15 && states > 30, `${points} points, ${states} states`);
  });

  it("keeps it when any call fails", async () => {
    const setting = await prepared();
    const faultsAt = /blobs|ledger.active/;
    const { violations } = await enumerateFaults(storyOf(setting), {
      from: setting.from,
      faultsAt,
      changesAfterFault: 1,
    });
    assert.deepEqual(violations, []);
  });

  for (const sync of ["files", "directories"] as const) {
    it(`is shown to lose it when ${sync} aren't synced`, async () => {
      const setting = await prepared();
      const { violations } = await enumerateCrashes(storyOf(setting), {
        from: setting.from,
        isBrief: true,
        wrap: without(sync),
        violationsMax: 1,
      });
      assert.equal(violations.length, 1);
    });
  }
});
