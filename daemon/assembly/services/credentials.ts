/** Whose credentials count now. */
import { Refusal } from "../../../shared/errors.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import type { LaunchIdentity } from "../../groups/launch-tokens.ts";
import type { LiveLaunches } from "../../runtimes/launch/live-launches.ts";
import type { Service } from "../service.ts";
import type { Access } from "./access.ts";

export interface Credentials {
  /** The Actor of a token that counts; null for any other. */
  verifyLaunchToken(token: string): LaunchIdentity | null;
  /** Why the caller's credential is no longer valid; null if it is. */
  lapsed(caller: Caller): Refusal | null;
}

interface Parts {
  access: Access;
  launches: Pick<LiveLaunches, "mayUse">;
}

export function create({ access, launches }: Parts): Service<Credentials> {
  const { launchTokens, accessTokens } = access;
  /** A token of a process that this daemon runs counts while that process lives. */
  const mayUse = (launched: LaunchIdentity | null): launched is LaunchIdentity =>
    launched !== null && launches.mayUse(launched);
  return {
    part: {
      verifyLaunchToken(token) {
        const launched = launchTokens.verify(token);
        return mayUse(launched) ? launched : null;
      },
      lapsed(caller) {
        if (caller.kind === "actor") {
          if (caller.launch === undefined || mayUse(launchTokens.find(caller.launch))) return null;
          return new Refusal("invalid_launch_token");
        }
        const isThere = caller.token_id === null || accessTokens.find(caller.token_id) !== null;
        return isThere ? null : new Refusal("unauthenticated");
      },
    },
  };
}
