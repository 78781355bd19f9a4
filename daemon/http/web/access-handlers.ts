/** Operations on Web access: login links, the caller, Remote Access, the exhibit. */

import type { JsonDocument } from "../../../platform/documents.ts";
import { canonicalHttpsOrigin, canonicalLoopbackOrigin } from "../../../platform/http/site.ts";
import type { Log } from "../../../platform/log.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { webAccessOperations } from "../../../shared/operations/access.ts";
import type { HandlersFor } from "../../../shared/operations/handlers.ts";
import type { Settings } from "../../home/settings.ts";
import { requireSocketOwner } from "../../operations/system-handlers.ts";
import { type ExhibitControl, restoreExhibit } from "./exhibit.ts";
import type { LoginLinks } from "./login-links.ts";

export interface ExhibitTokens {
  create(token: { name: string; kind: "exhibit"; groups: string[] }): Promise<{ id: string; token: string }>;
  find(tokenId: string): unknown;
  revoke(tokenId: string): Promise<void>;
}

export interface AccessDependencies {
  log: Log;
  links: LoginLinks;
  settings: JsonDocument<Settings>;
  tokens: ExhibitTokens;
  exhibit: ExhibitControl;
  /** Where a browser on this machine reaches the Web listener; null when it is off. */
  webOrigin(): string | null;
  /** Throws `group_not_found`. */
  requireGroup(groupId: string): void;
}

export function accessHandlers(deps: AccessDependencies): HandlersFor<typeof webAccessOperations> {
  const { links, settings, tokens, exhibit } = deps;

  /** The listener goes first, so that nothing is served while its token is revoked. */
  async function closeExhibit(): Promise<void> {
    await exhibit.close();
    const previous = settings.value.exhibit;
    if (previous === null) return;
    await settings.update((value) => ({ ...value, exhibit: null }));
    if (tokens.find(previous.token_id) !== null) await tokens.revoke(previous.token_id);
  }

  /** A token for what is on show there from now on. */
  async function newToken(groups: string[], place: { host: string; port: number }): Promise<string> {
    const { id, token } = await tokens.create({ name: "exhibit", kind: "exhibit", groups });
    try {
      await settings.update((value) => ({ ...value, exhibit: { ...place, groups, token_id: id } }));
    } catch (error) {
      await tokens.revoke(id);
      throw error;
    }
    return token;
  }

  return {
    login_link_create(_input, { caller }) {
      requireSocketOwner(caller);
      const origin = deps.webOrigin();
      if (origin === null) {
        throw new Refusal("conflict", {
          specifics: "The Web listener is off or didn't start. See 'svc doctor'.",
        });
      }
      return { url: `${origin}/#login=${links.create()}` };
    },
    whoami(_input, { caller }) {
      const groups = caller.kind === "member" || caller.kind === "exhibit" ? [...caller.groups] : null;
      const actor = caller.kind === "actor" ? { group_id: caller.group_id, actor_id: caller.actor_id } : null;
      return { kind: caller.kind, by: caller.by, groups: actor === null ? groups : [actor.group_id], actor };
    },
    remote_access_show: () => ({ remote_access: settings.value.remote_access }),
    async remote_access_set({ origin: wanted }) {
      const origin =
        wanted === null ? null : (canonicalHttpsOrigin(wanted) ?? canonicalLoopbackOrigin(wanted));
      if (wanted !== null && origin === null) {
        throw new Refusal("invalid_args", {
          specifics: "'origin' isn't an HTTPS origin that others can reach.",
          remedy: "Give only the scheme, the name and the port, such as https://svc.example.org.",
          details: { field: "origin" },
        });
      }
      const remoteAccess =
        origin === null
          ? ({ provider: "off", enabled: false, origin: null } as const)
          : ({ provider: "manual", enabled: true, origin } as const);
      await settings.update((value) => ({ ...value, remote_access: remoteAccess }));
      return { remote_access: remoteAccess };
    },
    exhibit_show() {
      const stored = settings.value.exhibit;
      if (stored === null) return { exhibit: null };
      const { host, port, groups } = stored;
      return { exhibit: { host, port, groups: [...groups], origin: exhibit.origin } };
    },
    async exhibit_set({ exhibit: wanted }) {
      for (const groupId of wanted?.groups ?? []) deps.requireGroup(groupId);
      if (wanted === null) {
        await closeExhibit();
        return { origin: null, token: null };
      }
      const groups = [...new Set(wanted.groups)];
      const previous = settings.value.exhibit;
      const { origin, port } = await exhibit.open(wanted.host, wanted.port, groups);
      try {
        const token = await newToken(groups, { host: wanted.host, port });
        if (previous !== null && tokens.find(previous.token_id) !== null)
          await tokens.revoke(previous.token_id);
        return { origin, token };
      } catch (error) {
        if (settings.value.exhibit === previous) await restoreExhibit(exhibit, previous, deps.log);
        throw error;
      }
    },
  };
}
