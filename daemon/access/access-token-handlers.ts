/** Operations on access tokens. */
import { Refusal } from "../../shared/errors.ts";
import type { accessTokenOperations } from "../../shared/operations/access.ts";
import type { HandlersFor } from "../../shared/operations/handlers.ts";
import type { GroupRegistry } from "../groups/registry.ts";
import type { AccessTokens } from "./access-tokens.ts";

export function accessTokenHandlers(deps: {
  registry: GroupRegistry;
  accessTokens: AccessTokens;
}): HandlersFor<typeof accessTokenOperations> {
  const { registry, accessTokens } = deps;
  return {
    access_token_create({ name, groups, exhibit }) {
      const ids = [...new Set(groups ?? [])];
      if (ids.length === 0 && (exhibit || groups !== undefined)) {
        throw new Refusal("invalid_args", {
          specifics: "A restricted or exhibit token needs the Groups it is for.",
          details: { field: "groups" },
        });
      }
      for (const groupId of ids) registry.get(groupId);
      const kind = exhibit ? "exhibit" : groups === undefined ? "administrator" : "restricted";
      return accessTokens.create({ name, kind, groups: ids });
    },
    access_token_list: () => ({ tokens: accessTokens.list() }),
    async access_token_revoke({ token_id: tokenId }) {
      await accessTokens.revoke(tokenId);
      return { revoked: true };
    },
  };
}
