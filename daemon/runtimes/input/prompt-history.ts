/**
 * What a runtime's own history says: which prompts of ours its conversation holds. It is a file
 * that the runtime appends to, a JSON line for each item, as measured (docs/runtimes.md, "What its
 * own history decides"). The file is outside input: a line that isn't understood decides nothing.
 */
import * as z from "zod";
import type { Files, OpenFile } from "../../../platform/files.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Runtime } from "../../../shared/model.ts";

/** `taken`: the conversation has it. `untaken`: it certainly hasn't. Anything else isn't known. */
export interface Findings {
  taken: ReadonlySet<string>;
  untaken: ReadonlySet<string>;
}

const { pieceBytes, lineBytes, fileBytes } = LIMITS.promptHistory;
const LINE_FEED = 0x0a;
const UNKNOWN: Findings = { taken: new Set(), untaken: new Set() };

const Text = z.union([z.string(), z.array(z.object({ text: z.string().optional() }))]);
type Text = z.infer<typeof Text>;

/** A prompt that Claude Code took at the begin of a turn, and one that joined a running turn. */
const ClaudePrompt = z.union([
  z.object({
    type: z.literal("user"),
    isSidechain: z.literal(false).optional(),
    message: z.object({ role: z.literal("user"), content: Text }),
  }),
  z.object({
    type: z.literal("attachment"),
    isSidechain: z.literal(false).optional(),
    attachment: z.object({ type: z.literal("queued_command"), prompt: Text }),
  }),
]);
const CodexPrompt = z.object({
  type: z.literal("response_item"),
  payload: z.object({ type: z.literal("message"), role: z.literal("user"), content: Text }),
});

/** Of a conversation; null when none is known. Otherwise as `findPrompts`. */
export async function findInConversation(
  files: Files,
  runtime: Runtime,
  conversation: { file: string; has_prompt: boolean } | null,
  ids: readonly string[],
): Promise<Findings> {
  if (conversation === null) return UNKNOWN;
  const { file, has_prompt: hasPrompt } = conversation;
  try {
    // The runtimes keep no file of a session in which nothing was said.
    if (!hasPrompt && files.stat(file) === null) return { taken: new Set(), untaken: new Set(ids) };
  } catch {
    return UNKNOWN;
  }
  return findPrompts(files, runtime, file, ids);
}

/**
 * Looks for the prompts that named these messages or notices, from the file's end on. A file that
 * is no file of its own, can't be read, or is larger than `LIMITS.promptHistory` decides nothing.
 * Lets others work between two pieces.
 */
export async function findPrompts(
  files: Files,
  runtime: Runtime,
  path: string,
  ids: readonly string[],
): Promise<Findings> {
  let file: OpenFile;
  try {
    // Opening something else than a file might wait for ever.
    if (files.stat(path)?.kind !== "file") return UNKNOWN;
    file = files.open(path, "read");
  } catch {
    return UNKNOWN;
  }
  try {
    return await search(file, runtime, ids);
  } catch {
    return UNKNOWN;
  } finally {
    file.close();
  }
}

async function search(file: OpenFile, runtime: Runtime, ids: readonly string[]): Promise<Findings> {
  const taken = new Set<string>();
  const unclear = new Set<string>();
  const size = file.size();
  let end = size;
  let isWhole = size <= fileBytes;
  /** Begins in an earlier piece. */
  let rest = Buffer.alloc(0);
  while (end > 0 && size - end < fileBytes && taken.size < ids.length) {
    const start = Math.max(0, end - pieceBytes);
    const piece = Buffer.alloc(end - start);
    if (file.read(piece, start) < piece.length) return UNKNOWN;
    const bytes = Buffer.concat([piece, rest]);
    const cut = start === 0 ? 0 : bytes.indexOf(LINE_FEED) + 1;
    // Without a line feed all of it belongs to a line that begins earlier.
    const isPart = start > 0 && cut === 0;
    rest = isPart ? bytes : bytes.subarray(0, cut);
    if (!isPart) searchLines(bytes.subarray(cut), runtime, ids, taken, unclear);
    if (rest.length > lineBytes) {
      isWhole = false;
      break;
    }
    end = start;
    if (end > 0) await new Promise<void>((resolve) => setImmediate(resolve));
  }
  const untaken = isWhole ? ids.filter((id) => !taken.has(id) && !unclear.has(id)) : [];
  return { taken, untaken: new Set(untaken) };
}

function searchLines(
  bytes: Buffer,
  runtime: Runtime,
  ids: readonly string[],
  taken: Set<string>,
  unclear: Set<string>,
): void {
  for (const id of ids) {
    for (let at = bytes.indexOf(id); at >= 0 && !taken.has(id); at = bytes.indexOf(id, at)) {
      const from = bytes.lastIndexOf(LINE_FEED, at) + 1;
      const to = bytes.indexOf(LINE_FEED, at);
      const line = bytes.subarray(from, to < 0 ? bytes.length : to);
      const prompt = promptIn(line, runtime);
      // A message that quotes another one has `> ` in front of each of its lines.
      if (prompt === null) unclear.add(id);
      else if (new RegExp(`(?:^|\\n)\\[svc\\] (?:message|notice) ${id}\\b`).test(prompt)) taken.add(id);
      at = from + line.length;
    }
  }
}

/** The person's prompt in this line, empty if it has something else; null if it isn't whole. */
function promptIn(line: Buffer, runtime: Runtime): string | null {
  let item: unknown;
  try {
    item = JSON.parse(line.toString("utf8"));
  } catch {
    return null;
  }
  if (runtime === "codex") {
    const found = CodexPrompt.safeParse(item).data;
    return found === undefined ? "" : joined(found.payload.content);
  }
  const found = ClaudePrompt.safeParse(item).data;
  if (found === undefined) return "";
  return joined(found.type === "user" ? found.message.content : found.attachment.prompt);
}

function joined(text: Text): string {
  return typeof text === "string" ? text : text.map((part) => part.text ?? "").join("\n");
}
