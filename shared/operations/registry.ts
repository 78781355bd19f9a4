/** All operations by name. Services provide the handlers. Ports, docs and tests use this table. */
import { accessTokenOperations, webAccessOperations } from "./access.ts";
import { activityOperations } from "./activity.ts";
import { actorOperations, runtimeOperations } from "./actors.ts";
import { connectOperations } from "./connect.ts";
import { accountOperations } from "./connect-account.ts";
import { peerOperations } from "./connect-peer.ts";
import type { OperationContract } from "./contract.ts";
import { directOperations } from "./direct.ts";
import { groupOperations, transferOperations } from "./groups.ts";
import { ledgerOperations } from "./ledger.ts";
import { messageOperations } from "./messages.ts";
import { notificationOperations } from "./notifications.ts";
import { presentationOperations } from "./presentations.ts";
import { questionOperations } from "./questions.ts";
import { systemOperations } from "./system.ts";

const all = [
  ...groupOperations,
  ...transferOperations,
  ...actorOperations,
  ...runtimeOperations,
  ...activityOperations,
  ...questionOperations,
  ...messageOperations,
  ...presentationOperations,
  ...ledgerOperations,
  ...accessTokenOperations,
  ...webAccessOperations,
  ...connectOperations,
  ...directOperations,
  ...accountOperations,
  ...peerOperations,
  ...notificationOperations,
  ...systemOperations,
] as const;

type Entry = (typeof all)[number];
export type OperationName = Entry["name"];
export type ContractOf<Name extends OperationName> = Extract<Entry, { name: Name }>;
/** Parsed input of an operation, defaults applied. */
export type InputOf<Name extends OperationName> = ContractOf<Name>["input"]["_zod"]["output"];
/** What a caller may pass. */
export type ArgumentsOf<Name extends OperationName> = ContractOf<Name>["input"]["_zod"]["input"];
export type ResultOf<Name extends OperationName> = ContractOf<Name>["output"]["_zod"]["output"];

export const OPERATIONS: ReadonlyMap<string, OperationContract> = new Map(
  all.map((contract) => [contract.name, contract as OperationContract]),
);
