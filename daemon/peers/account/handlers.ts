/** Operations on this instance's link to an account. */
import type { accountOperations } from "../../../shared/operations/connect-account.ts";
import type { HandlersFor } from "../../../shared/operations/handlers.ts";
import type { Account } from "./account.ts";

export function accountHandlers(account: Account): HandlersFor<typeof accountOperations> {
  return {
    connect_status: () => account.status(),
    async connect_rename({ display_name: displayName }) {
      await account.rename(displayName);
      return { renamed: true };
    },
    account_show: () => account.show(),
    account_link: ({ account_origin: origin }) => account.link(origin),
    async account_link_cancel() {
      await account.cancelLink();
      return { cancelled: true };
    },
    async account_unlink({ forget }) {
      await account.unlink(forget);
      return { unlinked: true };
    },
    async account_joined_seen({ device_ids: deviceIds }) {
      await account.acknowledge(deviceIds);
      return { seen: true };
    },
    connect_group_status: ({ group_id: groupId }) => account.groupStatus(groupId),
    connect_group_select: ({ group_id: groupId, invitation }) => ({
      url: account.selectGroup(groupId, invitation),
    }),
    remote_access_check: () => account.checkOrigin(),
  };
}
