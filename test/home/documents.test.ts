import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { type DocumentOptions, JsonDocument } from "../../platform/documents.ts";
import type { Files } from "../../platform/files.ts";
import { HomeProblem } from "../../platform/problem.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { Refusal } from "../../shared/errors.ts";
import { enumerateCrashes, enumerateFaults, type Story } from "../simulation/crash.ts";
import { removeTemporaryDirectories, temporaryDirectory } from "./setting.ts";

const Note = z.strictObject({ v: z.literal(1), text: z.string(), list: z.array(z.string()) });
type Note = z.infer<typeof Note>;

function options(files: Files, path: string): DocumentOptions<Note> {
  return { files, path, version: 1, schema: Note };
}

function note(text: string): Note {
  return { v: 1, text, list: [] };
}

async function problemOf(promise: Promise<unknown>): Promise<HomeProblem> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof HomeProblem, String(error));
    return error;
  }
  throw new assert.AssertionError({ message: "nothing was refused" });
}

describe("JsonDocument", () => {
  after(removeTemporaryDirectories);

  it("keeps a value over reopening, with mode 0600 whatever the umask", async () => {
    const path = join(temporaryDirectory(), "note.json");
    const before = process.umask(0);
    try {
      const document = await JsonDocument.create(options(new RealFiles(), path), note("a"));
      await document.update((value) => ({ ...value, text: "b" }));
    } finally {
      process.umask(before);
    }
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const reopened = await JsonDocument.read(options(new RealFiles(), path));
    assert.deepEqual(reopened?.value, note("b"));
    assert.deepEqual(readdirSync(join(path, "..")), ["note.json"]);
  });

  it("says null when there is no file", async () => {
    const path = join(temporaryDirectory(), "none.json");
    assert.equal(await JsonDocument.read(options(new RealFiles(), path)), null);
  });

  it("applies concurrent changes one after the other", async () => {
    const path = join(temporaryDirectory(), "note.json");
    const document = await JsonDocument.create(options(new RealFiles(), path), note(""));
    const letters = "abcdefghij".split("");
    await Promise.all(
      letters.map((letter) => document.update((value) => ({ ...value, list: [...value.list, letter] }))),
    );
    assert.deepEqual(document.value.list, letters);
    assert.deepEqual((await JsonDocument.read(options(new RealFiles(), path)))?.value.list, letters);
  });

  it("leaves everything alone when the change throws, and goes on", async () => {
    const path = join(temporaryDirectory(), "note.json");
    const document = await JsonDocument.create(options(new RealFiles(), path), note("a"));
    await assert.rejects(
      document.update(() => {
        throw new Error("no");
      }),
      /no/,
    );
    await document.update((value) => ({ ...value, text: "b" }));
    assert.equal(document.value.text, "b");
  });

  it("gives out immutable values and writes nothing it couldn't read again", async () => {
    const path = join(temporaryDirectory(), "note.json");
    const document = await JsonDocument.create(options(new RealFiles(), path), note("a"));
    assert.throws(() => document.value.list.push("x"), TypeError);
    await assert.rejects(document.update((value) => ({ ...value, extra: 1 }) as Note));
    assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), note("a"));
  });

  it("refuses a newer format and keeps its bytes", async () => {
    const path = join(temporaryDirectory(), "note.json");
    const bytes = '{"v":2,"text":{"from":"the future"}}';
    writeFileSync(path, bytes);
    const problem = await problemOf(JsonDocument.read(options(new RealFiles(), path)));
    assert.equal(problem.code, "unsupported_version");
    assert.match(problem.message, /Update svc/);
    assert.equal(readFileSync(path, "utf8"), bytes);
  });

  for (const [name, bytes] of Object.entries({
    "an empty file": "",
    "half a document": '{"v":1,"text":"secret',
    "invalid UTF-8": Buffer.from([0x7b, 0xff, 0x7d]),
    "an unknown field": '{"v":1,"text":"a","list":[],"secret":1}',
    "no version": '{"text":"secret","list":[]}',
    "a bare value": '"secret"',
  })) {
    it(`refuses ${name}, keeps the bytes and quotes none of them`, async () => {
      const path = join(temporaryDirectory(), "note.json");
      writeFileSync(path, bytes);
      const problem = await problemOf(JsonDocument.read(options(new RealFiles(), path)));
      assert.equal(problem.code, "corrupt");
      assert.ok(!String(problem.stack).includes('"secret'));
      assert.deepEqual(readFileSync(path), Buffer.from(bytes));
    });
  }

  it("refuses what it can't read", async () => {
    const path = join(temporaryDirectory(), "note.json");
    mkdirSync(path);
    assert.equal((await problemOf(JsonDocument.read(options(new RealFiles(), path)))).code, "unreadable");
  });
});

/** Texts whose update was tried, was acknowledged, or was refused. */
interface Witness {
  tried: string[];
  acknowledged: string | null;
}

async function attempt(witness: Witness, text: string, write: () => Promise<unknown>): Promise<void> {
  witness.tried.push(text);
  try {
    await write();
    witness.acknowledged = text;
    witness.tried = [];
  } catch (error) {
    assert.ok(error instanceof Refusal && error.code.startsWith("storage_"), String(error));
  }
}

const story: Story<Witness> = {
  begin: () => ({ tried: [], acknowledged: null }),

  async run(files, witness) {
    let document: JsonDocument<Note> | null = null;
    await attempt(witness, "first", async () => {
      document = await JsonDocument.create(options(files, "/note.json"), note("first"));
    });
    document ??= await JsonDocument.create(options(files, "/note.json"), note("first"));
    for (const text of ["second", `third ${"x".repeat(1500)}`, "fourth"]) {
      await attempt(witness, text, () => document!.update((value) => ({ ...value, text })));
    }
  },

  /**
   * What is there is the last acknowledged value, or a later one that was tried, and it can be
   * changed.
   */
  async check(files, witness) {
    const document = await JsonDocument.read(options(files, "/note.json"));
    const possible = [witness.acknowledged, ...witness.tried];
    assert.ok(possible.includes(document?.value.text ?? null), `found ${document?.value.text}`);
    if (document === null) return;
    await document.update((value) => ({ ...value, text: "after" }));
    assert.equal((await JsonDocument.read(options(files, "/note.json")))?.value.text, "after");
  },
};

/** Files that say a sync is done without doing it. */
function without(files: Files, missing: "sync" | "syncDir"): Files {
  const skip = (done: (error: null) => void) => void setImmediate(done, null);
  return new Proxy(files, {
    get(target, name: keyof Files) {
      if (name === "syncDir" && missing === "syncDir") {
        return (_path: string, done: (error: null) => void) => skip(done);
      }
      if (name === "open" && missing === "sync") {
        return (...given: Parameters<Files["open"]>) => ({ ...target.open(...given), sync: skip });
      }
      return target[name].bind(target);
    },
  });
}

describe("JsonDocument when the power fails or the disk does", () => {
  it("holds the old value or the new one, whole, at every crash point", async () => {
    const { points, states, violations } = await enumerateCrashes(story);
    assert.deepEqual(violations, []);
    assert.ok(points >= 20 && states >= 20, `${points} points, ${states} states`);
  });

  it("keeps its promises when any call fails with ENOSPC or EIO", async () => {
    const { violations } = await enumerateFaults(story);
    assert.deepEqual(violations, []);
  });

  for (const missing of ["sync", "syncDir"] as const) {
    it(`is shown to lose data when ${missing} is left out`, async () => {
      const wrap = (files: Files) => without(files, missing);
      const { violations } = await enumerateCrashes(story, { wrap });
      assert.notDeepEqual(violations, []);
    });
  }
});
