/** Operations on Direct connections. */
import type { directOperations } from "../../../shared/operations/direct.ts";
import type { HandlersFor } from "../../../shared/operations/handlers.ts";
import type { Direct } from "./direct.ts";

export function directHandlers(direct: Direct): HandlersFor<typeof directOperations> {
  return {
    connect_direct_status: ({ group_id }) => direct.status(group_id),
    async connect_direct_configure({ listener, display_name, expected_listener }) {
      await direct.configure(listener, display_name, expected_listener);
      return { configured: true };
    },
    connect_direct_invite: async ({ group_id, expected_listener }) => ({
      invitation: await direct.invite(group_id, expected_listener),
    }),
    connect_direct_join: async ({ group_id, invitation }) => ({
      id: await direct.join(group_id, invitation),
    }),
    async connect_direct_approve({ group_id, id }) {
      await direct.approve(group_id, id);
      return { updated: true };
    },
    async connect_direct_revoke({ group_id, id }) {
      await direct.revoke(group_id, id);
      return { updated: true };
    },
    async connect_direct_remove({ group_id, id }) {
      await direct.remove(group_id, id);
      return { removed: true };
    },
  };
}
