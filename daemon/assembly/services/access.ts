/** Launch tokens, access tokens, and the sessions of browsers. */
import type { accessTokenOperations } from "../../../shared/operations/access.ts";
import { accessTokenHandlers } from "../../access/access-token-handlers.ts";
import { AccessTokens } from "../../access/access-tokens.ts";
import { LaunchTokens } from "../../groups/launch-tokens.ts";
import { BrowserSessions } from "../../http/web/browser-sessions.ts";
import { sessionsCheck, tokensCheck } from "../../operations/health.ts";
import type { Given } from "../given.ts";
import type { ServiceFor } from "../service.ts";
import type { Groups } from "./groups.ts";

export interface Access {
  launchTokens: LaunchTokens;
  accessTokens: AccessTokens;
  sessions: BrowserSessions;
}

type Parts = Pick<Given, "files" | "clock" | "random" | "log" | "home"> & { groups: Groups };

export async function create(parts: Parts): Promise<ServiceFor<Access, typeof accessTokenOperations>> {
  const { files, clock, random, log, home, groups } = parts;
  const { paths, settings } = home;
  const { registry } = groups;
  const launchTokens = await LaunchTokens.open({ files, random, log, home: paths.root, registry });
  const accessTokens = new AccessTokens({ clock, random, settings });
  const path = paths.webSessions;
  const sessions = await BrowserSessions.open({ files, clock, random, path, tokens: accessTokens });
  return {
    part: { launchTokens, accessTokens, sessions },
    handlers: accessTokenHandlers({ registry, accessTokens }),
    health: [tokensCheck(() => accessTokens.list().length), sessionsCheck(() => sessions.problem)],
    stop: () => accessTokens.close(),
  };
}
