/** What the Workbench hears from the elements and dialogs below it. */
import type { Address, MessageFilter } from "../../../shared/address.ts";
import type { ActorOperation } from "../../actors/actors-panel.ts";
import type { MessageAction } from "../../feed/message.ts";
import type { GroupOrder } from "../../state/group-list.ts";
import type { GroupState } from "./actions.ts";

/** Events of the elements and dialogs below, each with its data. */
interface Heard {
  "open-group": string;
  "group-deleted": string;
  "group-reset": string;
  "dialog-closed": undefined;
  "group-state": GroupState;
  "open-dialog": { name: string };
  "write-to": string;
  "actor-operation": ActorOperation;
  "open-terminal": string;
  "show-question": string;
  "question-answering": Promise<void>;
  "message-action": MessageAction;
  suggest: string;
  "add-text": string;
  sent: undefined;
  found: string;
  searched: { search: string; filter: MessageFilter };
  "copy-link": Partial<Address>;
  "close-terminal": string;
  moved: undefined;
  search: undefined;
  "go-to": Partial<Address>;
  /** Whether system events are shown. */
  "choose-events": boolean;
  "sort-groups": GroupOrder;
  "close-search": undefined;
  "close-thread": undefined;
  "close-presentations": undefined;
  staleness: boolean;
  "choose-screen-reader": boolean;
  "open-address": Address;
  /** `connections`: with the dialog of the Group's connections. */
  "show-instance": { instanceId: string; groupId: string | null; connections: boolean };
  "leave-instance": undefined;
  "sign-out": undefined;
  "show-groups": undefined;
}

/** Adds listeners to `element` until `signal`. */
export function hearing(element: HTMLElement, signal: AbortSignal) {
  return <Name extends keyof Heard>(name: Name, run: (detail: Heard[Name]) => void): void =>
    element.addEventListener(name, (event) => run((event as CustomEvent<Heard[Name]>).detail), { signal });
}
