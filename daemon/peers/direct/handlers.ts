/** Operations on Direct connections. */
import type { directOperations } from "../../../shared/operations/direct.ts";
import type { HandlersFor } from "../../../shared/operations/handlers.ts";
import type { Direct } from "./direct.ts";

export function directHandlers(direct: Direct): HandlersFor<typeof directOperations> {
  return {
    connect_direct_status: ({ group_id: groupId }) => direct.status(groupId),
    async connect_direct_configure({
      listener,
      display_name: displayName,
      expected_listener: expectedListener,
    }) {
      await direct.configure(listener, displayName, expectedListener);
      return { configured: true };
    },
    connect_direct_invite: async ({ group_id: groupId, expected_listener: expectedListener }) => ({
      invitation: await direct.invite(groupId, expectedListener),
    }),
    connect_direct_join: async ({ group_id: groupId, invitation }) => ({
      id: await direct.join(groupId, invitation),
    }),
    async connect_direct_approve({ group_id: groupId, id }) {
      await direct.approve(groupId, id);
      return { updated: true };
    },
    async connect_direct_revoke({ group_id: groupId, id }) {
      await direct.revoke(groupId, id);
      return { updated: true };
    },
    async connect_direct_remove({ group_id: groupId, id }) {
      await direct.remove(groupId, id);
      return { removed: true };
    },
  };
}
