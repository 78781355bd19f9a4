/** What is read of a runtime's own history: which prompts of ours its conversation holds. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findInConversation, findPrompts } from "../../daemon/runtimes/input/prompt-history.ts";
import { RealFiles } from "../../platform/real-files.ts";

const ID = "0123456789abcdef0123456789abcdef";
const OTHER = "f".repeat(32);
const TEXT = `[svc] message ${ID} from lead\n> hello\n[svc] To answer: x`;

const codex = (text: string, role = "user") => ({
  timestamp: "2026-01-01T00:00:00.000Z",
  type: "response_item",
  payload: { type: "message", role, content: [{ type: "input_text", text }] },
});
const claude = (content: unknown, more: object = {}) => ({
  type: "user",
  isSidechain: false,
  message: { role: "user", content },
  ...more,
});
const joins = (prompt: string) => ({ type: "attachment", attachment: { type: "queued_command", prompt } });
const lines = (...items: unknown[]) => items.map((item) => `${JSON.stringify(item)}\n`).join("");

describe("a runtime's own history", () => {
  let folder: string;
  let file: string;
  const files = new RealFiles();
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-history-"));
    file = join(folder, "history.jsonl");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const found = async (runtime: "claude" | "codex", content: string | Buffer, ids = [ID]) => {
    writeFileSync(file, content);
    const { taken, untaken } = await findPrompts(files, runtime, file, ids);
    return [[...taken], [...untaken]];
  };
  const TAKEN = [[ID], []];
  const UNTAKEN = [[], [ID]];
  const UNKNOWN = [[], []];

  it("has a prompt that the runtime took, at the begin of a turn or in one", async () => {
    assert.deepEqual(await found("codex", lines(codex(TEXT))), TAKEN);
    assert.deepEqual(await found("codex", lines(codex(`before\n\n${TEXT}`))), TAKEN);
    assert.deepEqual(await found("codex", lines(codex(`[svc] notice ${ID}: x`))), TAKEN);
    const pasted = `\n\n<pasted_content id="feed">\n${TEXT}\n</pasted_content id="feed">\n`;
    assert.deepEqual(await found("claude", lines(claude(pasted))), TAKEN);
    assert.deepEqual(await found("claude", lines(claude([{ type: "text", text: TEXT }]))), TAKEN);
    assert.deepEqual(await found("claude", lines(joins(TEXT))), TAKEN);
  });

  it("doesn't have what only names it: a queue, a tool, an answer, a quotation, a subagent", async () => {
    const results = [{ type: "tool_result", content: TEXT }];
    for (const item of [
      claude(results),
      claude(TEXT, { isSidechain: true }),
      claude(`[svc] message ${OTHER} from lead\n> ${TEXT.split("\n")[0]}`),
      claude(`[svc] message ${ID}0 from lead`),
      { type: "queue-operation", operation: "enqueue", content: TEXT },
      { type: "last-prompt", lastPrompt: TEXT },
      { type: "api-request-blob", message: { role: "user", content: [{ type: "text", text: TEXT }] } },
    ]) {
      assert.deepEqual(await found("claude", lines(item)), UNTAKEN, JSON.stringify(item));
    }
    for (const item of [
      codex(TEXT, "assistant"),
      { type: "response_item", payload: { type: "function_call_output", output: TEXT } },
      { type: "compacted", payload: { message: TEXT } },
    ]) {
      assert.deepEqual(await found("codex", lines(item)), UNTAKEN, JSON.stringify(item));
    }
    assert.deepEqual(await found("codex", ""), UNTAKEN);
  });

  it("has it before a compaction, and each of several on its own", async () => {
    const content = lines(codex(TEXT), { type: "compacted", payload: { message: "short" } }, codex("later"));
    assert.deepEqual(await found("codex", content, [ID, OTHER]), [[ID], [OTHER]]);
  });

  it("says nothing by a line that was torn or isn't JSON", async () => {
    const whole = lines(codex("before"));
    assert.deepEqual(await found("codex", whole + lines(codex(TEXT)).slice(0, -10)), UNKNOWN);
    assert.deepEqual(await found("codex", whole + JSON.stringify(codex(TEXT)).slice(0, 40)), UNTAKEN);
    assert.deepEqual(await found("codex", `${whole}{"x": ${ID}\0\n${lines(codex(TEXT))}`), TAKEN);
    assert.deepEqual(await found("codex", `\0\0\0 ${ID}\n${whole}`), UNKNOWN);
  });

  it("is read whole where it is large, and never where it is no file", async () => {
    const filler = Buffer.alloc(1 << 20, `${JSON.stringify(codex("x".repeat(1000)))}\n`);
    filler[filler.length - 1] = 0x0a;
    const large = [lines(codex(TEXT)), ...Array.from({ length: 100 }, () => filler)];
    const content = Buffer.concat(large.map((part) => Buffer.from(part)));
    assert.deepEqual(await found("codex", content, [ID, OTHER]), [[ID], [OTHER]]);
    const long = lines(codex(`${"y".repeat(9 << 20)}\n${TEXT}`), codex("z"));
    assert.deepEqual(await found("codex", long), TAKEN);

    writeFileSync(file, lines(codex(TEXT)));
    const link = join(folder, "link.jsonl");
    symlinkSync(file, link);
    for (const path of [link, folder, join(folder, "absent"), "/dev/zero"]) {
      const { taken, untaken } = await findPrompts(files, "codex", path, [ID]);
      assert.deepEqual([taken.size, untaken.size], [0, 0], path);
    }
  });

  it("has nothing where nothing was said yet, and isn't known without a conversation", async () => {
    const absent = { file: join(folder, "absent"), has_prompt: false };
    assert.deepEqual([...(await findInConversation(files, "claude", absent, [ID])).untaken], [ID]);
    const lost = { ...absent, has_prompt: true };
    assert.equal((await findInConversation(files, "claude", lost, [ID])).untaken.size, 0);
    assert.equal((await findInConversation(files, "claude", null, [ID])).untaken.size, 0);
  });
});
