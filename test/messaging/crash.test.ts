/**
 * Files, drafts and imports on a disk that loses power or fails: everything that could be left of
 * them is looked at.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readWhole } from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import type { ProjectFiles } from "../../platform/project-files.ts";
import { Refusal } from "../../shared/errors.ts";
import type { Attachment } from "../../shared/model.ts";
import { enumerateCrashes, enumerateFaults, type Story, without } from "../simulation/crash.ts";
import type { Tree } from "../simulation/crash-states.ts";
import { SimulatedFiles } from "../simulation/files.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { TestHome } from "./setting.ts";

const ROOT = "/home";
const EXPORT = "/exports/group.jsonl";
const START = Date.parse("2026-01-01T00:00:00.000Z");
const DAY_AND_MORE = 25 * 3_600_000;
const FIRST = "the first file";
const SECOND = "the second file";
const SHOWN = "what a slot shows";
const FORGOTTEN = "a file that nobody sends";

/** Nothing outside the simulated disk. */
const projects: ProjectFiles = {
  canonical: (path) => path,
  isDirectory: () => false,
  ownFolder: () => "/",
  folders: async () => ({ names: [], more: false }),
  gitOrigin: () => null,
  isSamePlace: () => false,
  openBelow: () => {
    throw new Error("no part of these stories");
  },
};

function open(files: Files, now = START): Promise<TestHome> {
  const ledgerLimits = { extendBytes: 1024 };
  return TestHome.open({ root: ROOT, files, projects, ledgerLimits, clock: new ManualClock({ start: now }) });
}

/** Null when the disk fails just then; what fails otherwise must be a refusal. */
async function went<Result>(step: () => Promise<Result>): Promise<Result | null> {
  try {
    return await step();
  } catch (error) {
    assert.ok(error instanceof Refusal, String((error as Error).stack));
    return null;
  }
}

async function opened(files: Files): Promise<TestHome | null> {
  try {
    return await open(files);
  } catch {
    return null;
  }
}

function digestOf(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function uploaded(home: TestHome, group: string, text: string): Promise<Attachment> {
  const chunks = (async function* () {
    yield Buffer.from(text.slice(0, 5));
    yield Buffer.from(text.slice(5));
  })();
  return home.messaging.upload(group, chunks, { name: "a", mime_type: "b", bytes: text.length });
}

async function contentOf(home: TestHome, group: string, sha256: string): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const chunk of home.messaging.openBlob(group, sha256).chunks) parts.push(chunk);
  return Buffer.concat(parts).toString();
}

/** A disk with Groups on it, as a daemon leaves it that was stopped. */
async function prepared(fill: (home: TestHome, group: string) => Promise<void> = async () => undefined) {
  const files = new SimulatedFiles({ directories: ["/exports"], files: new Map() });
  const home = await open(files);
  const group = await home.group("dev");
  const other = await home.group("lead");
  await fill(home, group);
  await home.close();
  return { from: files.tree(), group, other };
}

/** Every digest that an event of the Group names: its file must be there whole. Their texts. */
async function checkMessages(home: TestHome, group: string): Promise<Set<string>> {
  const { ledger } = home.registry.get(group);
  const referred = new Set<string>();
  for (let ordinal = 0; ordinal < ledger.count; ordinal += 1) {
    const event = ledger.read(ordinal);
    if (event.kind !== "chat.message" && event.kind !== "presentation.publish") continue;
    for (const { sha256 } of event.data.attachments) {
      referred.add(sha256);
      assert.equal(digestOf(await contentOf(home, group, sha256)), sha256, "an attached file isn't whole");
    }
  }
  return referred;
}

/** Names of files in a directory of the Group. */
function namesIn(files: Files, path: string): string[] {
  return files.stat(path) === null ? [] : files.list(path).filter((name) => name !== "uploads");
}

interface FileWitness {
  /** Texts whose upload was acknowledged less than a day ago. */
  uploads: string[];
  /** Ids of messages that were acknowledged. */
  messages: string[];
}

function fileStory(group: string, other: string): Story<FileWitness> {
  return {
    begin: () => ({ uploads: [], messages: [] }),

    async run(files, witness) {
      const home = await opened(files);
      if (home === null) return;
      const upload = async (text: string) => {
        if ((await went(() => uploaded(home, group, text))) !== null) witness.uploads.push(text);
      };
      const attached = (text: string) => ({ attachments: [{ sha256: digestOf(text), name: "a" }] });
      const send = async (text: string) => {
        const sent = await went(() => home.send(group, "message", attached(text)));
        if (sent !== null) witness.messages.push(sent.event.id);
      };
      await upload(FIRST);
      await upload(SECOND);
      await upload(FIRST);
      await send(FIRST);
      await send(FIRST);
      const across = { group_id: group, dst_group_id: other, text: "across" };
      await went(() => home.call("send_cross_group", { ...across, ...attached(SECOND) }));
      const shown = { group_id: group, slot: 1, title: "shown", kind: "markdown", text: SHOWN } as const;
      const published = await went(() => home.call("presentation_publish", shown));
      if (published !== null) witness.messages.push(published.presentation.event_id);
      await upload(FORGOTTEN);
      witness.uploads = [];
      home.clock.advance(DAY_AND_MORE);
      await upload(FIRST);
      await home.close();
    },

    async check(files, witness) {
      let home = await open(files);
      const { blobs } = home.registry.get(group).paths;
      for (const name of namesIn(files, `${blobs}/uploads`)) assert.match(name, /^[0-9a-f]{64}\.json$/);
      for (const text of witness.uploads) {
        assert.equal(await contentOf(home, group, digestOf(text)), text, "an acknowledged upload is lost");
      }
      for (const id of witness.messages)
        assert.ok(home.registry.get(group).ledger.ordinalOf(id) !== undefined);
      for (const sha256 of namesIn(files, blobs)) {
        assert.equal(digestOf(await contentOf(home, group, sha256)), sha256, "half a file is visible");
      }
      await checkMessages(home, group);
      await home.close();
      // A day later everything is there that messages name, and nothing else.
      home = await open(files, START + 3 * DAY_AND_MORE);
      for (const one of [group, other]) {
        const paths = home.registry.get(one).paths;
        const referred = await checkMessages(home, one);
        assert.deepEqual(new Set(namesIn(files, paths.blobs)), referred, "an orphan stays");
        assert.deepEqual(namesIn(files, `${paths.blobs}/uploads`), []);
      }
      await uploaded(home, group, SECOND);
      await home.send(group, "later", { attachments: [{ sha256: digestOf(SECOND), name: "a" }] });
      await home.close();
    },
  };
}

interface DraftWitness {
  /** What the draft may be: the last one that was acknowledged, and those tried since. */
  texts: (string | null)[];
}

function draftStory(group: string): Story<DraftWitness> {
  return {
    begin: () => ({ texts: [null] }),

    async run(files, witness) {
      const home = await opened(files);
      if (home === null) return;
      for (const text of ["one", "two", null, "three"]) {
        witness.texts.push(text);
        const draft = text === null ? null : { text };
        const put = await went(() => home.call("draft_put", { group_id: group, draft }));
        if (put !== null) witness.texts = [text];
      }
      await home.close();
    },

    async check(files, witness) {
      const home = await open(files);
      const { draft } = await home.call("draft_get", { group_id: group });
      const text = (draft as { text: string } | null)?.text ?? null;
      assert.ok(witness.texts.includes(text), `${text} instead of ${witness.texts.join()}`);
      await home.call("draft_put", { group_id: group, draft: { text: "later" } });
      await home.close();
    },
  };
}

interface TransferWitness {
  exported: boolean;
  /** The new Group's id. */
  imported: string | null;
}

function transferStory(group: string, other: string): Story<TransferWitness> {
  const isThere = (files: Files) => files.stat(EXPORT) !== null;
  /** Digests of export files that could be imported. */
  const good = new Set<string>();
  const imports = (home: TestHome) => home.call("group_import", { path: EXPORT });
  return {
    begin: () => ({ exported: false, imported: null }),

    async run(files, witness) {
      const home = await opened(files);
      if (home === null) return;
      const exported = await went(() => home.call("group_export", { group_id: group, path: EXPORT }));
      witness.exported = exported !== null;
      if (exported !== null) witness.imported = (await went(() => imports(home)))?.group.group_id ?? null;
      await home.close();
    },

    async check(files, witness) {
      const home = await open(files);
      assert.deepEqual(home.registry.unavailable(), []);
      for (const name of files.list(`${ROOT}/groups`)) {
        assert.match(name, /^g_[0-9a-f]{12}$/, "something was left over");
      }
      const { ledger } = home.registry.get(group);
      const fresh = home.registry
        .list()
        .filter(({ group_id: groupId }) => groupId !== group && groupId !== other);
      if (witness.imported !== null) {
        assert.deepEqual(
          fresh.map(({ group_id: groupId }) => groupId),
          [witness.imported],
          "an acknowledged import is lost",
        );
      }
      assert.ok(fresh.length <= 1);
      for (const { group_id: groupId, ledger: copy, record } of fresh) {
        assert.equal(record.state, "stopped");
        assert.ok(copy.count >= ledger.count, "half an import is visible");
        for (let at = 0; at < ledger.count; at += 1) assert.equal(copy.read(at).id, ledger.read(at).id);
        assert.equal((await checkMessages(home, groupId)).size, 1);
      }
      assert.ok(isThere(files) || !witness.exported, "an acknowledged export is lost");
      const digest = isThere(files) ? digestOf(readWhole(files, EXPORT) ?? "") : null;
      if (digest !== null && !good.has(digest)) {
        const count = home.registry.list().length;
        const again = await went(() => imports(home));
        if (again !== null) good.add(digest);
        assert.ok(again !== null, "a file has the export's name and isn't whole");
        assert.equal(home.registry.list().length, count + (again === null ? 0 : 1));
      }
      await home.close();
    },
  };
}

describe("Messaging when the power fails or the disk does", function () {
  this.timeout(600_000);
  const stories: [string, RegExp, boolean, () => Promise<{ from: Tree; story: Story<unknown> }>][] = [
    [
      "files",
      /blobs|ledger.active/,
      false,
      async () => {
        const { from, group, other } = await prepared();
        return { from, story: fileStory(group, other) };
      },
    ],
    [
      "drafts",
      /drafts|g_[^/]*$/,
      false,
      async () => {
        const { from, group } = await prepared();
        return { from, story: draftStory(group) };
      },
    ],
    [
      "exports and imports",
      /exports|new-|groups$/,
      // The ledger has its own enumeration.
      true,
      async () => {
        const { from, group, other } = await prepared(async (home, filled) => {
          const { sha256 } = await uploaded(home, filled, FIRST);
          await home.send(filled, "with a file", { attachments: [{ sha256, name: "a" }] });
        });
        return { from, story: transferStory(group, other) };
      },
    ],
  ];

  for (const [name, faultsAt, isBrief, make] of stories) {
    it(`keeps what was acknowledged of ${name}, and nothing half, at every crash point`, async () => {
      const { from, story } = await make();
      const { points, states, violations } = await enumerateCrashes(story, { from, isBrief });
      assert.deepEqual(violations, []);
      assert.ok(points > 15 && states > 30, `${points} points, ${states} states`);
    });

    it(`keeps it when any call fails: ${name}`, async () => {
      const { from, story } = await make();
      const { violations } = await enumerateFaults(story, { from, faultsAt, changesAfterFault: 1 });
      assert.deepEqual(violations, []);
    });

    for (const sync of ["files", "directories"] as const) {
      it(`is shown to lose ${name} when ${sync} aren't synced`, async () => {
        const { from, story } = await make();
        const { violations } = await enumerateCrashes(story, {
          from,
          isBrief: true,
          wrap: without(sync),
          violationsMax: 1,
        });
        assert.equal(violations.length, 1);
      });
    }
  }
});
