/** Which Groups of other instances a window knows, and what takes them away. */
import assert from "node:assert/strict";
import type { OtherInstance, Source } from "../../extension/daemon/instance.ts";
import { SavedGroups } from "../../extension/daemon/saved-groups.ts";
import type { Connection } from "../../shared/operations/connect.ts";

const LAB: OtherInstance = { instance_id: "lab", name: "Lab", origin: null, identity: "lab on one device" };
const AT = "2026-11-22T10:00:00.000Z";

describe("the saved Groups of other instances", () => {
  let others: OtherInstance[] | null;
  let local: string[];
  let connections: Connection[];
  let titles: string[];
  /** The Groups that asked, and after which Group. */
  let asked: (string | undefined)[][];
  let answering: () => Promise<void>;
  let saved: SavedGroups;

  const titlesOf = (other: OtherInstance) => saved.of(other)?.groups.map(({ title }) => title) ?? null;

  beforeEach(() => {
    others = [LAB];
    local = ["g_1"];
    connections = [];
    titles = ["Rig"];
    asked = [];
    answering = () => Promise.resolve();
    const call = async (_name: string, input: { group_id: string; after?: string; limit: number }) => {
      asked.push([input.group_id, input.after]);
      await answering();
      const from = Number(input.after ?? 0);
      const page = titles.slice(from, from + input.limit);
      const groups = page.map((title, at) => ({ group_id: String(from + at), title, actors: [] }));
      const next = from + input.limit < titles.length ? String(from + input.limit) : null;
      return { catalog: { checked_at: AT, groups }, next };
    };
    saved = new SavedGroups(
      { call: call as unknown as Source["call"] },
      {
        get others() {
          return others;
        },
        get groups() {
          return local.map((id) => ({ summary: { group_id: id } })) as never;
        },
        get connections() {
          return connections;
        },
      },
    );
  });

  it("are those that the daemon knows, up to 256, and whether there are more", async () => {
    assert.equal(saved.of(LAB), null);
    assert.equal(await saved.read(LAB), true);
    assert.deepEqual(saved.of(LAB), {
      identity: LAB.identity,
      groups: [{ group_id: "0", title: "Rig" }],
      more: false,
      at: AT,
      failed: false,
    });
    assert.equal(await saved.read(LAB), false, "nothing is new");
    titles = Array.from({ length: 300 }, (_, at) => `Group ${at}`);
    assert.equal(await saved.read(LAB), true);
    assert.deepEqual([saved.of(LAB)?.groups.length, saved.of(LAB)?.more], [256, true]);
  });

  it("are asked for by a Group that isn't connected to some of them by itself", async () => {
    local = ["g_1", "g_2"];
    connections = [{ kind: "direct", group_id: "g_1", remote: { instance_id: "lab" } } as Connection];
    await saved.read(LAB);
    local = ["g_1"];
    await saved.read(LAB);
    assert.deepEqual(asked, [["g_2", undefined]]);
    assert.deepEqual([saved.of(LAB)?.at, titlesOf(LAB)], [null, []]);
  });

  it("belong to one link, device and address of it", async () => {
    await saved.read(LAB);
    const moved = { ...LAB, identity: "lab elsewhere" };
    assert.equal(titlesOf(moved), null);
    others = [moved];
    saved.tidy();
    others = [LAB];
    assert.equal(titlesOf(LAB), null, "it is forgotten");
  });

  it("don't come back with an answer to an earlier question", async () => {
    answering = async () => {
      others = [];
    };
    assert.equal(await saved.read(LAB), false);
    assert.equal(titlesOf(LAB), null);
    others = [LAB];
    answering = () => Promise.reject(new Error("gone"));
    assert.equal(await saved.read(LAB), true);
    assert.equal(saved.of(LAB)?.failed, true, "a failure is said where nothing is known");
    assert.equal(await saved.read(LAB), false, "once");
    answering = () => Promise.resolve();
    assert.equal(await saved.read(LAB), true, "and followed by another try");
    assert.deepEqual([saved.of(LAB)?.failed, titlesOf(LAB)], [false, ["Rig"]]);
    answering = () => Promise.reject(new Error("gone"));
    assert.equal(await saved.read(LAB), false);
    assert.deepEqual(titlesOf(LAB), ["Rig"], "what is known stays");
  });
});
