/** What the daemon answers when the account service asks about a selected Group. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { GroupSelection } from "../../../daemon/peers/account/group-selection.ts";
import type { ConnectGroupTicket } from "../../../shared/wire/v1/proofs.ts";
import { refusal } from "../../messaging/setting.ts";
import { verifies } from "../../requirements.ts";
import { DirectorySetting } from "./directory-setting.ts";

const GROUP = "g_00000000000a";

describe("the selection of a Group for another account", () => {
  let setting: DirectorySetting;
  let selection: GroupSelection;
  /** Of the Group; null while it can't be read, undefined if there is none. */
  let generation: string | null | undefined;
  let looked: number;

  beforeEach(async () => {
    setting = await DirectorySetting.open();
    await setting.started();
    generation = "1";
    looked = 0;
    const found = () => {
      looked += 1;
      const record = { group_id: GROUP, title: "Docs", generation };
      // Only these are asked for.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return { record } as never;
    };
    const { clock, identity, membership, directory } = setting;
    selection = new GroupSelection({
      clock,
      identity,
      membership,
      directory,
      registry: {
        get: found,
        find: () => (typeof generation === "string" ? found() : ((looked += 1), undefined)),
        knows: () => {
          looked += 1;
          return generation !== undefined;
        },
      },
    });
  });
  afterEach(() => setting.directory.close());

  const selected = (): ConnectGroupTicket => {
    const url = new URL(selection.select(GROUP, undefined));
    looked = 0;
    const json = Buffer.from(url.searchParams.get("ticket") ?? "", "base64url").toString();
    return JSON.parse(json) as ConnectGroupTicket;
  };
  const check = (ticket: ConnectGroupTicket) => selection.check({ ticket, nonce: randomUUID() });

  it("is confirmed for the Group as it was, and denied once that is gone or replaced", () => {
    const ticket = selected();
    assert.equal(check(ticket).title, "Docs");
    generation = null;
    assert.throws(() => check(ticket), refusal("connect_group_unavailable"));
    for (const now of ["2", undefined]) {
      generation = now;
      assert.throws(() => check(ticket), refusal("connect_group_denied"));
    }
  });

  it("is denied without a look at any Group unless it is signed here and still valid", async () => {
    verifies("EXT-072");
    const ticket = selected();
    const wrong = [
      { ...ticket, title: "Other" },
      { ...ticket, signature: ticket.signature.replace(/^./u, (first) => (first === "A" ? "B" : "A")) },
      { ...ticket, device_id: "dev_2" },
    ];
    for (const state of ["1", null, undefined]) {
      generation = state;
      for (const one of wrong) assert.throws(() => check(one), refusal("connect_group_denied"));
    }
    setting.clock.advance(24 * 3_600_000);
    assert.throws(() => check(ticket), refusal("connect_group_denied"));
    await setting.link("dev_3");
    assert.throws(() => check(ticket), refusal("connect_group_denied"));
    assert.equal(looked, 0);
  });
});
