/** The link to an account: one of the ways to other instances. */

import { joinedSentence } from "../../../shared/account-words.ts";
import { ENVIRONMENT } from "../../../shared/names.ts";
import type { accountOperations } from "../../../shared/operations/connect-account.ts";
import { typedOrigin } from "../../../shared/typed-origin.ts";
import { accountCheck, joinedCheck } from "../../operations/health.ts";
import { Account, requestSeconds } from "../../peers/account/account.ts";
import { accountHandlers } from "../../peers/account/handlers.ts";
import type { Outbound } from "../../peers/outbound.ts";
import type { Given } from "../given.ts";
import type { ServiceFor } from "../service.ts";
import type { Groups } from "./groups.ts";
import type { Receiving } from "./receiver.ts";

type Parts = Pick<
  Given,
  "files" | "clock" | "random" | "log" | "http" | "home" | "hostname" | "environment"
> & {
  groups: Pick<Groups, "registry">;
  outbound: { authorities: Pick<Outbound["authorities"], "add"> };
  receiver: Receiving;
};

export async function create(parts: Parts): Promise<ServiceFor<Account, typeof accountOperations>> {
  const { home, groups, outbound, receiver, environment, http, ...rest } = parts;
  const { registry } = groups;
  const { paths, identity, settings, kept } = home;
  const account = await Account.open({
    ...rest,
    http,
    paths,
    kept,
    identity,
    receiver,
    registry,
    advertisedOrigin() {
      const { enabled, origin } = settings.value.remote_access;
      return enabled ? origin : null;
    },
    defaultOrigin: typedOrigin(environment[ENVIRONMENT.accountOrigin] ?? "") || null,
    seconds: requestSeconds(environment[ENVIRONMENT.accountTimeout]),
  });
  outbound.authorities.add(account.authority, account.transport);
  outbound.authorities.add(account.external, account.transport);
  registry.onChange(({ what }) => {
    if (what === "created" || what === "removed") account.groupsChanged();
  });
  return {
    part: account,
    handlers: accountHandlers(account),
    health: [
      accountCheck(() => account.show()),
      joinedCheck(() => {
        const { joined, account_origin: origin } = account.show();
        return { joined: joined.map(joinedSentence), origin };
      }),
    ],
    start: () => account.start(),
    async stop() {
      await receiver.close();
      await account.close();
      http.close();
    },
  };
}
