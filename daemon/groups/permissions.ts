/**
 * Who may do what to Actors (docs/core-model.md#permissions). The dispatcher has already checked
 * whether this kind of caller may call at all.
 */
import { Refusal } from "../../shared/errors.ts";
import { type Caller, isAnybody } from "../../shared/operations/caller.ts";
import type { OpenGroup } from "./group.ts";

export type ActorAction =
  | "add"
  | "start"
  | "stop"
  | "restart"
  | "interrupt"
  | "remove"
  | "update"
  | "secrets";

/**
 * Throws permission_denied unless `caller` may do this to the Actor. Add and start: user or
 * foreman. Stop, restart and interrupt: those, or the Actor itself. Remove: user, or the foreman
 * for peers. Everything else: only the user.
 */
export function checkMayManage(
  group: OpenGroup,
  caller: Caller,
  action: ActorAction,
  targetId: string,
): void {
  if (caller.kind === "user") {
    if (isAnybody(caller) && (action === "start" || action === "restart")) checkConfirmed(group, targetId);
    return;
  }
  if (caller.kind === "actor" && isCurrent(group, caller)) {
    const isForeman = group.roleOf(caller.actor_id) === "foreman";
    const isItself = caller.actor_id === targetId;
    if (isForeman && !isItself && (action === "start" || action === "restart"))
      checkConfirmed(group, targetId);
    if ((action === "add" || action === "start") && isForeman) return;
    if ((action === "stop" || action === "restart" || action === "interrupt") && (isForeman || isItself))
      return;
    if (action === "remove" && isForeman && !isItself) return;
  }
  throw new Refusal("permission_denied");
}

/** Throws permission_denied for a command that only a file has chosen so far. */
function checkConfirmed(group: OpenGroup, targetId: string): void {
  if (group.record.actors.find(({ id }) => id === targetId)?.unconfirmed !== true) return;
  throw new Refusal("permission_denied", {
    specifics: `The command or environment of '${targetId}' came with an import, and no person has started it yet.`,
    remedy: "Ask a person to look at it and to start it once.",
  });
}

/**
 * An Actor acts only in its own Group, and only while it is that Actor. A later one with its id is
 * another.
 */
function isCurrent(group: OpenGroup, caller: Extract<Caller, { kind: "actor" }>): boolean {
  return (
    caller.group_id === group.group_id &&
    group.record.actors.some(
      (actor) => actor.id === caller.actor_id && actor.generation === caller.generation,
    )
  );
}

/** Whether lists show this Group to the caller. */
export function maySee(caller: Caller, groupId: string): boolean {
  if (caller.kind === "user") return true;
  return caller.kind === "actor" ? caller.group_id === groupId : caller.groups.has(groupId);
}
