/**
 * Everything that a daemon consists of, in the order in which it is made and started; it is stopped
 * in the opposite one. A service gets what the lines before it give, by their names. Another
 * service is another line.
 */
import type { OperationName } from "../../shared/operations/registry.ts";
import type { Given } from "./given.ts";
import { type OperationsOf, ServiceList } from "./service.ts";
import * as access from "./services/access.ts";
import * as account from "./services/account.ts";
import * as activity from "./services/activity.ts";
import * as administration from "./services/administration.ts";
import * as api from "./services/api.ts";
import * as closing from "./services/closing.ts";
import * as credentials from "./services/credentials.ts";
import * as direct from "./services/direct.ts";
import * as directListener from "./services/direct-listener.ts";
import * as doors from "./services/doors.ts";
import * as groups from "./services/groups.ts";
import * as launches from "./services/launches.ts";
import * as lineage from "./services/lineage.ts";
import * as local from "./services/local.ts";
import * as machine from "./services/machine.ts";
import * as messaging from "./services/messaging.ts";
import * as notifications from "./services/notifications.ts";
import * as operations from "./services/operations.ts";
import * as outbound from "./services/outbound.ts";
import * as peers from "./services/peers.ts";
import * as ports from "./services/ports.ts";
import * as receiver from "./services/receiver.ts";
import * as runtimes from "./services/runtimes.ts";
import * as streams from "./services/streams.ts";
import * as system from "./services/system.ts";
import * as web from "./services/web.ts";

/** Those that answer operations: all of them are there before the last one opens a port. */
const ANSWERING = ServiceList.of<Given>()
  .with("closing", closing.create)
  .with("machine", machine.create)
  .with("groups", groups.create)
  .with("access", access.create)
  .with("launches", launches.create)
  .with("credentials", credentials.create)
  .with("lineage", lineage.create)
  .with("doors", doors.create)
  .with("activity", activity.create)
  .with("outbound", outbound.create)
  .with("messaging", messaging.create)
  .with("runtimes", runtimes.create)
  .with("administration", administration.create)
  .with("receiver", receiver.create)
  .with("direct", direct.create)
  .with("account", account.create)
  .with("peers", peers.create)
  .with("notifications", notifications.create)
  .with("operations", operations.create)
  .with("streams", streams.create)
  .with("ports", ports.create)
  .with("api", api.create)
  .with("system", system.create)
  .with("web", web.create);

export const SERVICES = ANSWERING.with("directListener", directListener.create).with("local", local.create);

/** Every operation has its handler: an error of types here names those that have none. */
type Unanswered = Exclude<OperationName, OperationsOf<typeof ANSWERING>>;
const everyOperationIsAnswered: [Unanswered] extends [never] ? true : Unanswered = true;
void everyOperationIsAnswered;
