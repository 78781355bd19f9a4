/** The list of Groups and what polls for it while there is no stream. */

import assert from "node:assert/strict";
import type { GroupSummary } from "../../shared/operations/groups.ts";
import type { GroupsListener } from "../../shared/stream-client/listeners.ts";
import type { Host } from "../../webview/hosts/host.ts";
import { GroupsStore } from "../../webview/state/group-list.ts";
import { until } from "../support/until.ts";

/** A store that has read `titles`, and what the stream says to it. */
async function storeOf(titles: readonly string[]) {
  let compared = 0;
  const summary = (number: number, title: string): GroupSummary =>
    ({
      group_id: `g_${number}`,
      get title() {
        compared += 1;
        return title;
      },
      attention: 0,
    }) as unknown as GroupSummary;
  let listener: GroupsListener | null = null;
  const host = {
    call: async () => ({ groups: titles.map((title, at) => summary(at, title)) }),
    watchGroups: (given: GroupsListener) => {
      listener = given;
      return () => {};
    },
  } as unknown as Host;
  const store = new GroupsStore(host);
  store.open();
  await store.refresh();
  let told = 0;
  store.subscribe(() => (told += 1));
  return {
    store,
    say: (number: number, title: string) => listener!.group(summary(number, title)),
    titles: () => store.list.map(({ title }) => title),
    compared: () => {
      const count = compared;
      compared = 0;
      return count;
    },
    told: () => told,
  };
}

describe("the list of Groups", () => {
  const many = Array.from({ length: 201 }, (_, at) => `Group ${at + 1}`);

  it("is in the order of titles, wherever a Group comes in or goes to", async () => {
    const { say, titles, store } = await storeOf(["b", "Group 10", "a", "Group 9"]);
    assert.deepEqual(titles(), ["a", "b", "Group 9", "Group 10"]);
    say(7, "aa");
    say(0, "z");
    say(1, "Group 8");
    assert.deepEqual(titles(), ["a", "aa", "Group 8", "Group 9", "z"]);
    store.close();
  });

  it("keeps a Group that came while an older list was on its way", async () => {
    const { say, titles, store } = await storeOf(["a"]);
    const reading = store.refresh();
    say(5, "b");
    await reading;
    assert.deepEqual(titles(), ["a", "b"]);
    store.close();
  });

  it("isn't sorted again for each message of the stream, and shows many together", async () => {
    const { say, compared, told, store } = await storeOf(many);
    compared();
    for (let number = 0; number < 201; number += 1) say(number, many[number]!);
    assert.ok(compared() <= 4 * 201, "each is put where it was");
    say(201, "Group 100b");
    assert.ok(compared() <= 40, "a new one is looked for a place");
    await until("it was told", () => told() > 0);
    assert.equal(told(), 1);
    store.close();
  });
});
