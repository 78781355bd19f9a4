/** Why an Actor can't be started, and what helps. */
import { HostError } from "../hosts/host.ts";

/** The program that the Actor would run isn't installed. */
export function isMissing(error: unknown): error is HostError {
  return error instanceof HostError && error.code === "runtime_not_installed" && "program" in error.details;
}

/** Why an Actor can't be started, with what helps here. */
export function startProblem(error: unknown): string {
  if (isMissing(error))
    return `Can’t start: the daemon’s machine has no program “${String(error.details["program"])}”. Install it, or enter another one under Command and arguments.`;
  return error instanceof Error ? error.message : String(error);
}
