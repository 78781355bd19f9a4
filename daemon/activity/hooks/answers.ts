/**
 * Detects answers that no hook reports. A runtime says that it asks for permission, but not what
 * the answer was. Claude is silent if the answer was No, and both are silent while a permitted tool
 * runs. The question on the screen is the only sign: if it was there and then isn't, it was
 * answered.
 */
import { operationRevision } from "./closing.ts";
import { type HookState, isOpen, type Revision } from "./hook-state.ts";

/** This many looks in a row without the question count, because a screen may be half drawn. */
const LOOKS = 2;

/** Watches one Actor's screen while its runtime asks. */
export class AnswerWatch {
  #question = "";
  #wasSeen = false;
  #missed = 0;

  /**
   * `question`: what the hooks say is asked; empty if nothing is. `isSeen`: the screen shows a
   * question. Returns true when it was answered.
   */
  look(question: string, isSeen: () => boolean): boolean {
    this.#take(question);
    if (question === "") return false;
    if (isSeen()) {
      this.see(question);
      return false;
    }
    if (this.#wasSeen) this.#missed += 1;
    return this.#missed >= LOOKS;
  }

  /** The screen shows it. */
  see(question: string): void {
    this.#take(question);
    this.#wasSeen = true;
    this.#missed = 0;
  }

  #take(question: string): void {
    if (question === this.#question) return;
    this.#question = question;
    this.#wasSeen = false;
    this.#missed = 0;
  }
}

/** What is asked, by the id of the operation or the turn; empty when nothing is. */
export function questionOf(state: HookState | null): string {
  if (state === null) return "";
  const held = state.operations.findLast((operation) => isOpen(operation) && operation.status === "waiting");
  if (held !== undefined) return `operation ${held.id}`;
  return state.turn?.isWaiting === true ? `turn ${state.turn.name}` : "";
}

/**
 * No question is open now, or none about `operationId`. No hook says whether work continues. A
 * silent terminal shows that the answer ended the turn.
 */
export function answered(
  before: HookState,
  at: string,
  operationId = "",
): { state: HookState; revisions: Revision[] } {
  const revisions: Revision[] = [];
  const operations = before.operations.map((operation) => {
    if (!isOpen(operation) || operation.status !== "waiting") return operation;
    if (operationId !== "" && operation.id !== operationId) return operation;
    const next = { ...operation, status: "started" as const };
    revisions.push(operationRevision(before, next, "started", "PermissionRequest"));
    return next;
  });
  const turn = before.turn === null ? null : { ...before.turn, isWaiting: false, isAssumed: true };
  return { state: { ...before, operations, turn, at }, revisions };
}
