/**
 * The messaging service: messages, Inbox, obligations, files and ledger reads, for all Groups. The
 * folder's face.
 */

import { timestamp } from "../../platform/clock.ts";
import { errorFields } from "../../platform/log.ts";
import { Signal } from "../../platform/signal.ts";
import { Refusal } from "../../shared/errors.ts";
import type { Attachment, StoredActor } from "../../shared/model.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { CallContext } from "../../shared/operations/caller.ts";
import type { transferOperations } from "../../shared/operations/groups.ts";
import type { HandlersFor } from "../../shared/operations/handlers.ts";
import type { ledgerOperations } from "../../shared/operations/ledger.ts";
import type { messageOperations } from "../../shared/operations/messages.ts";
import type { presentationOperations } from "../../shared/operations/presentations.ts";
import type { OpenGroup } from "../groups/group.ts";
import type { GroupCounts } from "../groups/group-view.ts";
import type { Placed } from "../ledger/types.ts";
import { type BlobReading, BlobStore, describeAttachment } from "./files/blobs.ts";
import { fetchFile } from "./files/file-fetch.ts";
import { fileFindings } from "./files/referred-files.ts";
import { UploadQuota } from "./files/upload-quota.ts";
import {
  type ActorCaller,
  type Chats,
  GroupChat,
  type MessagingDependencies,
  type WorkingState,
} from "./group-chat.ts";
import { fitting } from "./history/history-budget.ts";
import { messageHistory } from "./history/message-history.ts";
import { Reads } from "./history/reads.ts";
import { Inbox } from "./inbox/inbox.ts";
import { attentionOf, bootstrap, countsOf, presenceOf } from "./inbox/overview.ts";
import { type ActorIdentity, type Lease, type Session, Sessions } from "./inbox/sessions.ts";
import { cancelReplyRequest } from "./messages/cancellation.ts";
import { CrossGroup } from "./messages/cross-group.ts";
import { deliverAgain } from "./messages/deliveries.ts";
import { noteEvidence } from "./messages/delivery-evidence.ts";
import { Drafts } from "./messages/drafts.ts";
import { Notices } from "./messages/notices.ts";
import { Sending } from "./messages/sending.ts";
import { withdraw } from "./messages/withdrawal.ts";
import { Presentations, type ShownContent } from "./presentations/presentations.ts";
import { exportGroup } from "./transfer/group-export.ts";
import { importGroup } from "./transfer/group-import.ts";

type PresenceListener = (groupId: string, actorId: string) => void;
type CountsListener = (groupId: string) => void;

type Operations =
  | typeof messageOperations
  | typeof presentationOperations
  | typeof ledgerOperations
  | typeof transferOperations;

interface Attached {
  chat: GroupChat;
  notices: Notices;
  unfollow(): void;
}

export class Messaging implements Chats {
  readonly #deps: MessagingDependencies;
  readonly #attached = new Map<string, Attached>();
  readonly #presence = new Signal<[groupId: string, actorId: string]>();
  readonly #counts = new Signal<[groupId: string]>();
  readonly #quota: UploadQuota;
  readonly #sessions: Sessions;
  readonly #cross: CrossGroup;
  readonly #sending: Sending;
  readonly #inbox: Inbox;
  readonly #reads: Reads;
  readonly #drafts: Drafts;
  readonly #presentations: Presentations;
  readonly #stops: (() => void)[] = [];
  #closed = false;

  constructor(deps: MessagingDependencies) {
    this.#deps = deps;
    this.#quota = new UploadQuota(deps.limits);
    this.#sessions = new Sessions({
      clock: deps.clock,
      ended: (session) => this.#sessionEnded(session),
      quiet: ({ identity }) => this.#tellPresence(identity.group_id, identity.actor_id),
    });
    this.#cross = new CrossGroup(this, deps);
    this.#sending = new Sending(this, deps, this.#cross);
    this.#inbox = new Inbox(this, deps, this.#sessions, (groupId, actorId) =>
      this.#tellPresence(groupId, actorId),
    );
    this.#reads = new Reads(this);
    this.#drafts = new Drafts(this, deps);
    this.#presentations = new Presentations(this, deps.projects);
  }

  /**
   * Takes up every Group of the registry and follows its changes; completes what a crash
   * interrupted.
   */
  async start(): Promise<void> {
    const { registry, launchTokens } = this.#deps;
    for (const group of registry.list()) this.#attach(group);
    this.#stops.push(
      registry.onChange(({ group_id: groupId, what, late }) => {
        if (what === "created") {
          const chat = this.#attach(registry.get(groupId));
          if (late === true) void this.#complete(chat);
        } else if (what === "removed") this.#detach(groupId);
        else this.#groupChanged(groupId);
      }),
      launchTokens.onRevoked(({ group_id: groupId, actor_id: actorId, generation }) =>
        this.#sessions.endWhere(
          (identity) =>
            identity.group_id === groupId &&
            identity.actor_id === actorId &&
            identity.generation === generation,
          new Refusal("invalid_launch_token"),
        ),
      ),
    );
    for (const { chat } of this.#attached.values()) await this.#complete(chat);
  }

  /** Throws group_not_found, group_busy or group_unavailable; shutting_down once closed. */
  get(groupId: string): GroupChat {
    const attached = this.#attached.get(groupId);
    if (attached !== undefined) return attached.chat;
    // A definitive answer while the daemon stops would make followers of the Group give up.
    if (this.#closed) throw new Refusal("shutting_down");
    this.#deps.registry.get(groupId);
    throw new Refusal("group_not_found", { details: { group_id: groupId } });
  }

  find(groupId: string): GroupChat | undefined {
    return this.#attached.get(groupId)?.chat;
  }

  /** The table for the dispatcher. */
  handlers(): HandlersFor<Operations> {
    return {
      ...this.#presentations.handlers(),
      send: async (input, context) => {
        const sent = await this.#sending.send(input, context);
        if (input.reply_to !== undefined)
          await this.#evidence(input.group_id, context, [input.reply_to], "replied");
        return sent;
      },
      send_files: (input, context) => this.#sending.sendFiles(input, context),
      reply: async (input, context) => {
        const sent = await this.#sending.reply(input, context);
        await this.#evidence(input.group_id, context, [input.event_id], "replied");
        return sent;
      },
      send_cross_group: (input, context) => this.#cross.send(input, context),
      message_upload_preflight: (input, context) => this.#sending.preflight(input, context),
      file_fetch: (input, context) => fetchFile(this, this.#deps.projects, input, context),
      message_deliver: (input, context) => deliverAgain(this, input, context),
      message_withdraw: (input, context) => withdraw(this, input, context),
      reply_request_cancel: (input, context) => cancelReplyRequest(this, input, context),
      message_history: async (input, context) => {
        const found = await messageHistory(this, input, context, this.#deps.limits?.historyScanBytes);
        const page = context.caller.kind === "actor" ? fitting(found) : found;
        const eventIds = page.events.filter(({ kind }) => kind === "chat.message").map(({ id }) => id);
        await this.#evidence(input.group_id, context, eventIds, "read");
        return page;
      },
      inbox_peek: (input, context) => this.#inbox.peek(input, context),
      inbox_read: (input, context) => this.#inbox.read(input, context),
      feed_read: (input) => this.#inbox.feedRead(input),
      feed_unread: (input) => this.#inbox.feedUnread(input),
      draft_get: (input) => this.#drafts.get(input),
      draft_put: (input) => this.#drafts.put(input),
      ledger_tail: (input) => this.#reads.tail(input),
      ledger_window: (input) => this.#reads.window(input),
      ledger_find: (input, context) => this.#reads.find(input, context),
      ledger_thread: (input) => this.#reads.thread(input),
      ledger_search: (input) => this.#reads.search(input),
      ledger_since: (input) => this.#reads.since(input),
      ledger_statuses: (input, context) => this.#reads.statuses(input, context),
      ledger_compact: (input) => this.#reads.compact(input),
      ledger_reopen: async ({ group_id: groupId }) => {
        const { ledger } = await this.#deps.registry.reopen(groupId);
        return { damage: ledger.damage };
      },
      ledger_continue: async ({ group_id: groupId, confirm }, { caller }) => {
        const { ledger } = await this.#deps.registry.continueDamaged(groupId, confirm, caller.by);
        return { damage: ledger.damage };
      },
      ledger_verify: (input) => this.#reads.verify(input),
      bootstrap: (input, context) => bootstrap(this, this.#sessions, input, context),
      group_export: (input, context) => exportGroup(this, this.#deps, input, context),
      group_import: (input, context) => {
        if (this.#closed) throw new Refusal("shutting_down");
        return importGroup(this.#deps.registry, this.#deps, input, context);
      },
    };
  }

  async #evidence(
    groupId: string,
    { caller }: CallContext,
    eventIds: readonly string[],
    reason: "replied" | "read",
  ): Promise<void> {
    const chat = this.find(groupId);
    if (chat !== undefined) await noteEvidence(chat, caller, { event_ids: eventIds, reason }, this.#deps.log);
  }

  counts(groupId: string): GroupCounts {
    return countsOf(this, this.get(groupId));
  }

  /** How much in a Group needs the person, without reading the disk. */
  attention(groupId: string): number {
    return attentionOf(this, this.get(groupId));
  }

  /** Throws actor_not_found. */
  presence(groupId: string, actorId: string): ActorWithPresence["presence"] {
    const chat = this.get(groupId);
    return presenceOf(this, chat, this.#sessions, chat.group.actor(actorId));
  }

  workingState(groupId: string, actor: StoredActor): WorkingState {
    return this.#deps.workingState(groupId, actor);
  }

  /** An Actor's presence may have changed. Returns a function that stops listening. */
  onPresence(listener: PresenceListener): () => void {
    return this.#presence.on(listener);
  }

  /** A Group's counts or its last event changed. */
  onCounts(listener: CountsListener): () => void {
    return this.#counts.on(listener);
  }

  /**
   * For ports: a connection holds an Actor's session open. `ended` is called once if the session is
   * ended from here (stop, restart, removal, new token, shutdown). Throws limit_reached, or
   * invalid_launch_token if the Actor is no longer that one.
   */
  openSession(caller: ActorCaller, ended: () => void = () => {}): Lease {
    this.get(caller.group_id).self(caller);
    if (caller.session === null)
      throw new Refusal("invalid_request", { specifics: "The session has no name." });
    const lease = this.#sessions.open(caller, caller.session, ended);
    this.#tellPresence(caller.group_id, caller.actor_id);
    return lease;
  }

  /**
   * For the dispatcher: called before every call of an Actor. Keeps its session, and takes the call
   * as evidence for what it got before. Throws invalid_launch_token or limit_reached.
   */
  touch(caller: ActorCaller): void {
    if (caller.session === null) return;
    const chat = this.find(caller.group_id);
    if (chat === undefined) return;
    chat.self(caller);
    this.#inbox.later(caller, this.#sessions.touch(caller, caller.session));
  }

  /**
   * Streams a file into the Group, of `bytes` if known. If the stream throws or a limit is reached,
   * nothing is left.
   */
  async upload(
    groupId: string,
    chunks: AsyncIterable<Uint8Array>,
    { bytes, ...file }: { name: string; mime_type: string; bytes?: number },
  ): Promise<Attachment> {
    const { blobs, ledger } = this.get(groupId);
    ledger.checkWritable();
    await blobs.collect();
    return describeAttachment(await blobs.upload(chunks, bytes), file);
  }

  /**
   * Attached files that are missing or damaged, a sentence each. Reads those that may have changed.
   */
  async fileProblems(groupId: string): Promise<string[]> {
    const chat = this.find(groupId);
    if (chat === undefined) return [];
    const findings = await fileFindings(chat.ledger, chat.blobs.checked, { again: false });
    return findings.map(({ text }) => text);
  }

  /** Throws blob_not_found or file_damaged. `end` is exclusive; both are cut to the file. */
  openBlob(groupId: string, sha256: string, range?: { start: number; end: number }): BlobReading {
    return this.get(groupId).blobs.read(sha256, range);
  }

  /**
   * What a slot shows, or a version of it. Throws presentation_not_found or blob_not_found.
   */
  openPresentation(groupId: string, slot: number, eventId: string | null): ShownContent {
    return this.#presentations.content(groupId, slot, eventId);
  }

  /** Ends all sessions and waits. Ledgers stay open: they are the registry's. */
  close(): void {
    this.#closed = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.#sessions.endWhere(() => true, new Refusal("shutting_down"));
    for (const groupId of this.#attached.keys()) this.#detach(groupId);
  }

  #attach(group: OpenGroup): GroupChat {
    const { group_id: groupId } = group;
    this.#detach(groupId);
    const projections = this.#deps.projections.take(groupId);
    const blobs = new BlobStore(this.#deps, group.paths.blobs, this.#quota.group());
    const chat = new GroupChat(group, projections, blobs, {
      remote: this.#deps.remote ?? null,
      whyWaiting: (actorId) => this.#deps.whyWaiting(groupId, actorId),
      isHeld: (actorId, batchId) => this.#sessions.isHeld({ group_id: groupId, actor_id: actorId }, batchId),
    });
    const notices = new Notices(chat, this.#deps);
    const unfollow = group.ledger.follow((placed) => this.#appended(chat, notices, placed));
    this.#attached.set(groupId, { chat, notices, unfollow });
    try {
      blobs.load();
    } catch (error) {
      this.#deps.log.warn("files", { group_id: groupId, ...errorFields(error) });
    }
    projections.messages.takeTouched();
    notices.reconsider();
    return chat;
  }

  /** What a crash interrupted. */
  async #complete(chat: GroupChat): Promise<void> {
    // A message that is missing may have taken a file, and what is half done can't be recorded.
    if (chat.ledger.damage !== null) return;
    await this.#deps.remote?.recover(chat);
    await this.#settleFiles(chat);
    await this.#cross.completeAll(chat);
  }

  /** Files that no message took, and those that were being sent when the last run ended. */
  async #settleFiles({ blobs, ledger, group, forgottenAt }: GroupChat): Promise<void> {
    try {
      await blobs.settle(ledger, forgottenAt !== null);
      await blobs.collect();
    } catch (error) {
      this.#deps.log.warn("files", { group_id: group.group_id, ...errorFields(error) });
    }
  }

  #detach(groupId: string): void {
    const attached = this.#attached.get(groupId);
    if (attached === undefined) return;
    this.#attached.delete(groupId);
    attached.unfollow();
    attached.notices.close();
    attached.chat.blobs.close();
    this.#sessions.endWhere((identity) => identity.group_id === groupId, new Refusal("group_not_found"));
    attached.chat.wake();
  }

  /**
   * The Group's record changed: removed or disabled Actors lose their sessions, and others may get
   * messages again.
   */
  #groupChanged(groupId: string): void {
    const attached = this.#attached.get(groupId);
    if (attached === undefined) return;
    const { actors } = attached.chat.group.record;
    const actorOf = ({ actor_id: actorId }: ActorIdentity) => actors.find(({ id }) => id === actorId);
    this.#sessions.endWhere(
      (identity) => identity.group_id === groupId && actorOf(identity)?.generation !== identity.generation,
      new Refusal("invalid_launch_token"),
    );
    this.#sessions.endWhere(
      (identity) => identity.group_id === groupId && actorOf(identity)?.enabled === false,
      null,
    );
    attached.notices.reconsider();
    attached.chat.wake();
    for (const { id } of actors) this.#tellPresence(groupId, id);
  }

  /** What it held is delivered again. */
  #sessionEnded(session: Session): void {
    const { group_id: groupId, actor_id: actorId } = session.identity;
    const attached = this.#attached.get(groupId);
    if (attached !== undefined) {
      const inbox = attached.chat.inbox(actorId);
      inbox.leftAt = timestamp(this.#deps.clock);
      if (inbox.mail.release(session)) attached.notices.reconsider();
    }
    attached?.chat.wake(actorId);
    this.#tellPresence(groupId, actorId);
  }

  #appended(chat: GroupChat, notices: Notices, _placed: readonly Placed[]): void {
    const { actors, counts, mail, requests } = chat.projection.takeTouched();
    const { group_id: groupId } = chat.group;
    for (const actorId of actors) {
      chat.wake(actorId);
      this.#tellPresence(groupId, actorId);
    }
    if (mail || requests) notices.added({ mail, requests });
    if (counts) this.#counts.tell(groupId);
  }

  #tellPresence(groupId: string, actorId: string): void {
    this.#presence.tell(groupId, actorId);
  }
}
