/**
 * What the Workbench shows: the open Group, a search, a thread, and what failed. The address always
 * names it.
 */

import { type Address, type MessageFilter, NOWHERE } from "../../../shared/address.ts";
import { labelled } from "../../../shared/voice.ts";
import { copy } from "../../controls/copy.ts";
import { Store } from "../../controls/store.ts";
import type { Host } from "../../hosts/host.ts";
import { Conversation } from "../../state/conversation.ts";
import type { DraftMarks } from "../../state/draft-marks.ts";
import type { GroupsStore } from "../../state/group-list.ts";
import type { Layout } from "./layout.ts";
import { Navigation } from "./navigation.ts";

/** What Showing uses and needs from the page. */
interface Parts {
  host: Host;
  groups: GroupsStore;
  layout: Layout;
  drafts: DraftMarks;
  /** Another instance is shown instead. */
  covered(): boolean;
  /** Goes to a message once the feed is drawn. False if the Group has no such message. */
  jump(eventId: string): Promise<boolean>;
  /** The person goes elsewhere, or else the open Group went: what lies over the page goes too. */
  left(byPerson: boolean): void;
  /** This Group is open now. */
  opened(groupId: string): void;
}

export class Showing extends Store {
  readonly #parts: Parts;
  readonly #navigation: Navigation;
  #conversation: Conversation | null = null;
  #searching = false;
  #thread: string | null = null;
  #problem: string | null = null;
  /** Ways to a message that haven't ended. */
  #jumps = 0;
  /** A Group that was just created. The list may not have it yet. */
  #expected: string | null = null;
  /** The Group that an address has named. */
  #named: string | null = null;

  constructor(parts: Parts) {
    super();
    this.#parts = parts;
    const { host, groups } = parts;
    this.#navigation = new Navigation(host.addresses, (address, left) => this.#show(address, left));
    groups.subscribe(() => this.#onGroups());
  }

  get conversation(): Conversation | null {
    return this.#conversation;
  }

  get groupId(): string | null {
    return this.#conversation?.groupId ?? null;
  }

  get searching(): boolean {
    return this.#searching;
  }

  /** What the open search looks for; null if none is open. */
  get search(): string | null {
    return this.#searching ? (this.#navigation.address.search ?? "") : null;
  }

  get filter(): MessageFilter {
    return this.#navigation.address.filter;
  }

  /** A message of the thread that is shown. */
  get thread(): string | null {
    return this.#thread;
  }

  /** The slot that is shown beside the feed, and its earlier version if one is; null for none. */
  get slot(): { slot: number; versionId: string | null } | null {
    const { slot, versionId } = this.#navigation.address;
    return slot === null ? null : { slot, versionId };
  }

  get problem(): string | null {
    return this.#problem;
  }

  /** Shows what the address names, else the Group that was open last. */
  begin(): void {
    const { address } = this.#navigation;
    const last = this.#parts.host.recall("group");
    if (address.groupId !== null) this.#show(address, null);
    else if (typeof last === "string") this.open(last);
  }

  end(): void {
    this.#navigation.close();
    this.#conversation?.close();
  }

  fail(error: unknown): void {
    this.#problem = error instanceof Error ? error.message : String(error);
    this.changed();
  }

  /** Something else was begun: what failed before is no longer shown. */
  forgetProblem(): void {
    this.#problem = null;
    this.changed();
  }

  /** Goes anywhere. */
  visit(address: Partial<Address>): void {
    this.#navigation.go(address);
  }

  /** Goes to a Group that the list may not have yet. */
  visitNew(groupId: string): void {
    this.#expected = groupId;
    this.visit({ groupId });
    if (this.#parts.layout.breadth === "narrow") this.#parts.layout.show("feed");
  }

  /** Goes where a notification leads. */
  follow(address: Address): void {
    const { layout } = this.#parts;
    if (layout.breadth === "narrow" && address.actorId === null) layout.show("feed");
    this.visit(address);
  }

  /** Goes to something in the open Group. */
  go(to: Partial<Address>): void {
    if (this.groupId !== null) this.#navigation.go({ groupId: this.groupId, ...to });
  }

  /** What is shown in the open Group has another address now. */
  settle(to: Partial<Address>): void {
    if (this.groupId !== null) this.#navigation.settle({ groupId: this.groupId, ...to });
  }

  /** The feed was moved; `shows` tells whether a message is still in sight. */
  moved(shows: (eventId: string) => boolean): void {
    const { eventId } = this.#navigation.address;
    // What is still being gone to isn't in sight yet.
    if (this.#jumps === 0 && eventId !== null && !shows(eventId)) this.settle({});
  }

  /** The terminal of an Actor was closed. */
  terminalClosed(actorId: string): void {
    if (actorId === this.#navigation.address.actorId) this.settle({});
  }

  async copyLink(to: Partial<Address>): Promise<void> {
    const { groupId } = this;
    if (groupId === null) return;
    try {
      await copy(await this.#parts.host.addresses.link({ ...NOWHERE, groupId, ...to }));
    } catch (error) {
      this.fail(error);
    }
  }

  open(groupId: string, eventId: string | null = null): void {
    if (this.groupId === groupId) return;
    const { host, drafts } = this.#parts;
    this.#leave();
    this.#problem = null;
    this.#searching = false;
    this.#thread = null;
    const inView = () => document.visibilityState === "visible" && !this.#parts.covered();
    // What lies over the feed hides it.
    const looking = () =>
      inView() && document.hasFocus() && !this.#searching && this.#thread === null && this.slot === null;
    const conversation = new Conversation(host, groupId, looking, inView);
    this.#conversation = conversation;
    const { draft } = conversation;
    const mark = () => drafts.mark(groupId, draft.draft);
    draft.subscribe(mark);
    conversation.open(eventId);
    void conversation.draftRead.then(mark);
    host.remember("group", groupId);
    if (this.#navigation.address.groupId !== groupId) this.#navigation.settle({ groupId });
    this.#parts.opened(groupId);
    this.#onGroups();
    this.changed();
  }

  close(): void {
    this.#leave();
    this.#parts.host.remember("group", null);
    this.#navigation.settle({});
    this.changed();
  }

  #leave(): void {
    if (this.#conversation === null) return;
    this.#conversation.close();
    this.#conversation = null;
    this.#parts.left(false);
  }

  /** The open Group is no more. */
  deleted(): void {
    this.#expected = null;
    this.close();
  }

  #onGroups(): void {
    const { groups } = this.#parts;
    const { attention, list, loaded } = groups;
    const summary = groups.find(this.groupId);
    document.title = `${attention > 0 ? `(${attention}) ` : ""}${summary === undefined || summary === null ? "Workbench" : labelled(summary.title)}`;
    if (!loaded) return;
    const isGone = summary === undefined && this.groupId !== null && this.groupId !== this.#expected;
    const isInVain = isGone && this.#named === this.groupId;
    if (summary !== undefined) {
      this.#conversation?.noteUnread(summary.first_unread);
      this.#expected = null;
      this.#named = null;
    } else if (isGone) this.close();
    const [first] = list;
    if (this.#conversation !== null || first === undefined) return;
    this.open(first.group_id);
    if (isInVain)
      this.fail("The address names a Group that doesn’t exist here, or that you have no access to.");
  }

  #show({ groupId, eventId, threadId, actorId, search, slot }: Address, left: Address | null): void {
    const { groups, layout } = this.#parts;
    this.#parts.left(true);
    if (groupId !== null) {
      if (left !== null || !groups.loaded) this.#named = groupId;
      this.open(groupId, eventId);
    }
    const conversation = this.#conversation;
    if (conversation === null) return;
    const narrow = layout.breadth === "narrow";
    this.#searching = search !== null;
    this.#thread = threadId;
    this.changed();
    conversation.marks.returned();
    if ((threadId !== null || slot !== null) && narrow) layout.show("feed");
    if (actorId !== null) {
      conversation.terminals.show(actorId);
      if (narrow) layout.show("terminals");
    } else if (left !== null && left.actorId !== null && left.groupId === conversation.groupId) {
      conversation.terminals.close(left.actorId);
      if (narrow) layout.show("feed");
    }
    if (eventId !== null) void this.#jump(conversation, eventId);
  }

  async #jump(conversation: Conversation, eventId: string): Promise<void> {
    const { layout } = this.#parts;
    if (layout.breadth === "narrow") layout.show("feed");
    this.#jumps += 1;
    const found = await this.#parts.jump(eventId).finally(() => (this.#jumps -= 1));
    if (!found && this.#conversation === conversation) this.fail("This Group has no such message.");
  }
}
