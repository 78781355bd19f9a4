/**
 * Which conversation a start continues: the Actor's last one if its runtime can, else a new one,
 * and why.
 */
import type { Files } from "../../../platform/files.ts";
import type { RuntimeEntry } from "../catalogue.ts";
import type { Conversation } from "./last-run.ts";

export interface Choice {
  /** Null for a new conversation. */
  resume: Conversation | null;
  /** Why an earlier one isn't continued, in words; empty if there is none, or none was wanted. */
  lost: string;
}

export const NEW: Choice = { resume: null, lost: "" };

/** What a person's own arguments say about Claude's conversation; `-p` and its kind hold none. */
const CLAUDE_CHOOSES =
  /^(?:-r|--resume|-c|--continue|--session-id|--fork-session|--from-pr|-p|--print|--bg|--background|--cloud)(?:=|$)/;

/** The arguments that have the runtime continue a session; they come after the command's own. */
export function resumeArguments(entry: RuntimeEntry, sessionId: string): string[] {
  if (entry.resume === "claude_flag") return ["--resume", sessionId];
  return entry.resume === "codex_command" ? ["resume", sessionId] : [];
}

/** `args` are the command's own, `directory` is where its process will run. */
export function chooseConversation(
  files: Files,
  { entry, args, directory, isOwn }: PlannedStart,
  last: Conversation | null,
): Choice {
  // Nothing was said in it: the runtimes keep no file of such a session.
  if (!isOwn || last?.has_prompt !== true || choosesItself(entry, args)) return NEW;
  if (last.directory !== directory) return { resume: null, lost: "it belongs to another folder" };
  try {
    if (files.stat(last.file)?.kind === "file") return { resume: last, lost: "" };
  } catch {
    // It counts as gone.
  }
  return { resume: null, lost: "its file is gone" };
}

interface PlannedStart {
  entry: RuntimeEntry;
  args: readonly string[];
  directory: string;
  isOwn: boolean;
}

function choosesItself({ resume }: RuntimeEntry, args: readonly string[]): boolean {
  if (resume === "claude_flag") return args.some((arg) => CLAUDE_CHOOSES.test(arg));
  // A word that belongs to no option is a command of Codex, or a prompt.
  if (resume === "codex_command") {
    return args.some((arg, index) => !arg.startsWith("-") && args[index - 1]?.startsWith("-") !== true);
  }
  return true;
}
