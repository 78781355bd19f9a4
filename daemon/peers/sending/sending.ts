/**
 * Operations `connect_send` and `connect_send_files`: durable acceptance, no network
 * (docs/protocol.md#acceptance, docs/protocol.md#discovery).
 */
import { Refusal } from "../../../shared/errors.ts";
import type { MessageEvent } from "../../../shared/events.ts";
import type { CallContext, Caller } from "../../../shared/operations/caller.ts";
import type { InputOf, ResultOf } from "../../../shared/operations/registry.ts";
import type { ConnectActor } from "../../../shared/wire/v1/message.ts";
import { resolveRecipients, type Sender } from "../../groups/recipients.ts";
import type { Chats, GroupChat } from "../../messaging/group-chat.ts";
import { checkBody } from "../../messaging/messages/attachments.ts";
import { once } from "../../messaging/messages/idempotency.ts";
import { contentDigest, type Said } from "../../messaging/messages/message-event.ts";
import { MessageStatuses } from "../../messaging/messages/statuses.ts";
import { messageKey } from "../../messaging/projection/message-keys.ts";
import type { Grant } from "../authority.ts";
import type { CatalogReads, Destination } from "../catalog/catalog.ts";
import type { CatalogGroup } from "../catalog/catalog-cache.ts";
import type { Outbox } from "../outbox/outbox.ts";
import { checkBy } from "../requests/by.ts";
import { type Outgoing, personOf } from "./outgoing.ts";

type Queued = ResultOf<"connect_send">;
type Input = InputOf<"connect_send">;

interface Dependencies {
  chats: Chats;
  catalog: CatalogReads;
  outgoing: Outgoing;
  outbox: Outbox;
}

interface Found {
  event: MessageEvent;
  duplicate: boolean;
}

export class RemoteSending {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  send(input: InputOf<"connect_send">, { caller }: CallContext): Promise<Queued> {
    return this.#send(input, caller, false);
  }

  sendFiles(input: InputOf<"connect_send_files">, { caller }: CallContext): Promise<Queued> {
    return this.#send({ ...input, attachments: [] }, caller, true);
  }

  /**
   * The retry's lookup comes before addresses, recipients and files, which may have changed
   * (MSG-056 to MSG-060, MSG-064).
   */
  async #send(input: Input, caller: Caller, projectOnly: boolean): Promise<Queued> {
    const chat = this.#deps.chats.get(input.group_id);
    const author = checkBy(chat, caller, input.by);
    const said: Said = { ...input, refs: [], quote_text: undefined };
    checkBody(said);
    const { message_mode: mode, to, instance_id: instanceId, target_group_id: targetGroupId } = input;
    const digest = contentDigest(said, { mode, to, dst_group_id: `${instanceId}/${targetGroupId}` });
    const key = messageKey(author, input.client_id);
    const first = async (): Promise<Found> => {
      const find = () => this.#deps.catalog.destination(input.group_id, instanceId, targetGroupId);
      const destination = find();
      const { grant } = destination;
      const { event } = await this.#deps.outgoing.send(chat, {
        grant,
        target: { group_id: destination.group_id, title: titleOf(destination) },
        recipients: recipientsOf(destination, input, caller),
        mode,
        said,
        author,
        caller,
        reply: null,
        projectOnly,
        digest,
        confirm: () => checkSame(grant, find().grant),
      });
      return { event, duplicate: false };
    };
    const found = await once(chat, key, digest, first, (event) => ({ event, duplicate: true }));
    return this.#answer(chat, found.event);
  }

  #answer(chat: GroupChat, event: MessageEvent): Queued {
    const { delivery_id: deliveryId } = event.data;
    // The key may have been used within this Group.
    if (deliveryId === undefined) throw new Refusal("idempotency_conflict");
    const state = this.#stateOf(chat, event);
    return {
      accepted: true,
      queued: state === "queued",
      delivery_state: state,
      delivery_id: deliveryId,
      source_event: event,
    };
  }

  #stateOf(chat: GroupChat, event: MessageEvent): Queued["delivery_state"] {
    const ordinal = chat.ledger.ordinalOf(event.id);
    // It is accepted, but not in the ledger yet.
    if (ordinal === undefined) return "queued";
    return new MessageStatuses(chat, ordinal, event).connectDelivery()?.state ?? "unconfirmed";
  }
}

/**
 * Throws connect_not_granted if the message would now take another connection than it is written
 * for.
 */
function checkSame(grant: Grant, now: Grant): void {
  if (now.connection_id === grant.connection_id && now.remote.device_id === grant.remote.device_id) return;
  throw new Refusal("connect_not_granted", {
    specifics: "The connection to that Group changed while the message was being prepared.",
    remedy: "Send it again.",
  });
}

/** For a message without recipients. */
const DEFAULT_AUDIENCE = { default_send_to: "foreman" } as const;

function titleOf({ grant, group }: Destination): string {
  return group?.title ?? grant.pair?.remote_title ?? "";
}

/**
 * Concrete Actors of the other Group as last known (MSG-053, MSG-055). Throws
 * connect_catalog_unavailable, connect_not_granted for a Group that isn't listed, or what
 * `resolveRecipients` throws.
 */
function recipientsOf(
  { group, group_id: groupId, isLearnt }: Destination,
  { to, message_mode: messageMode }: Pick<Input, "to" | "message_mode">,
  caller: Caller,
): ConnectActor[] {
  const sender: Sender = caller.kind === "actor" ? { kind: "remote" } : { kind: "user" };
  if (to.includes("user")) {
    // The person is always there: the same rules as within this Home, without the other Group's
    // Actors.
    resolveRecipients({ actors: [], settings: DEFAULT_AUDIENCE }, { to, mode: messageMode, sender });
    return [personOf("user")];
  }
  if (group === null) {
    if (!isLearnt) throw new Refusal("connect_catalog_unavailable");
    throw new Refusal("connect_not_granted", {
      specifics: "The other instance lists no such Group.",
      remedy: "'svc connect' lists its Groups. A new one appears within a minute.",
      details: { group_id: groupId },
    });
  }
  const actors = foremanFirst(group);
  const audience = resolveRecipients(
    { actors, settings: DEFAULT_AUDIENCE },
    { to, mode: messageMode, sender },
  );
  return audience.to.map((id) => {
    const { title, generation, enabled, role } = actors.find((actor) => actor.id === id)!;
    return { id, title, generation, enabled, role };
  });
}

/** Aliases depend on the order: the other side's foreman comes first. */
function foremanFirst({ actors }: CatalogGroup): CatalogGroup["actors"] {
  return [
    ...actors.filter(({ role }) => role === "foreman"),
    ...actors.filter(({ role }) => role !== "foreman"),
  ];
}
