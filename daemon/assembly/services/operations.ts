/** The one way in: every listener calls the operations of all services here. */
import type { Messaging } from "../../messaging/messaging.ts";
import { Dispatcher } from "../../operations/dispatcher.ts";
import type { Given } from "../given.ts";
import type { Service, Whole } from "../service.ts";
import type { Credentials } from "./credentials.ts";
import type { Groups } from "./groups.ts";

type Parts = Pick<Given, "log" | "checkOutputs"> &
  Pick<Whole, "handlers"> & {
    groups: Groups;
    credentials: Credentials;
    messaging: Pick<Messaging, "touch">;
  };

export function create(parts: Parts): Service<Dispatcher> {
  const { log, checkOutputs, handlers, groups, credentials, messaging } = parts;
  const dispatcher = new Dispatcher({
    handlers,
    log,
    permitOf: (groupId) => groups.registry.get(groupId).permit,
    checkWritable: (groupId) => groups.registry.find(groupId)?.ledger.checkWritable(),
    touch: (caller) => messaging.touch(caller),
    lapsed: (caller) => credentials.lapsed(caller),
    checkOutputs: checkOutputs ?? false,
  });
  return { part: dispatcher, stop: () => dispatcher.close() };
}
