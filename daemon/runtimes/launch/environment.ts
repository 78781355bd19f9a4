/** The environment of an Actor's process (docs/core-model.md#actor; docs/protocol.md#names). */
import { ENVIRONMENT } from "../../../shared/names.ts";

export interface EnvironmentParts {
  /** Of the person's login. */
  base: Readonly<Record<string, string>>;
  /** Of the Actor: public, then private. */
  actor: Readonly<Record<string, string>>;
  private: Readonly<Record<string, string>>;
  /** What the runtime's catalogue entry adds. */
  handover: Readonly<Record<string, string>>;
  home: string;
  group_id: string;
  actor_id: string;
  /**
   * Path of the owner-only file with the launch token. An agent may print its environment, so the
   * token itself isn't in it.
   */
  tokenFile: string;
  /** Where it reaches the daemon. */
  socket: string;
  /** Of the launch. */
  mark: string;
}

/**
 * The Actor's own values override the login's, private ones override public ones, and ours
 * override all.
 */
export function composeEnvironment(parts: EnvironmentParts): Record<string, string> {
  const ours = new Set<string>(Object.values(ENVIRONMENT));
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(parts.base)) {
    if (!ours.has(name)) environment[name] = value;
  }
  environment["TERM"] = "xterm-256color";
  environment["COLORTERM"] = "truecolor";
  Object.assign(environment, parts.handover, parts.actor, parts.private);
  for (const name of ours) delete environment[name];
  environment[ENVIRONMENT.home] = parts.home;
  environment[ENVIRONMENT.group] = parts.group_id;
  environment[ENVIRONMENT.actor] = parts.actor_id;
  environment[ENVIRONMENT.actorFile] = parts.tokenFile;
  environment[ENVIRONMENT.socket] = parts.socket;
  environment[ENVIRONMENT.launchMark] = parts.mark;
  return environment;
}
