/** What the keys do in the Workbench, and the buttons that do the same. */
import type { Ref } from "lit/directives/ref.js";
import type { ComposerElement } from "../../composer/composer.ts";
import { announce } from "../../controls/announce.ts";
import type { FeedElement } from "../../feed/feed.ts";
import type { GroupsStore } from "../../state/group-list.ts";
import type { Focus } from "./focus.ts";
import { handleKey } from "./keys.ts";
import type { Layout } from "./layout.ts";
import type { Showing } from "./showing.ts";

interface Parts {
  groups: GroupsStore;
  layout: Layout;
  showing: Showing;
  focus: Focus;
  feed: Ref<FeedElement>;
  composer: Ref<ComposerElement>;
  /** Back to the own Groups if another instance is shown, then `then`. */
  leave: (then: () => void) => void;
  openDialog: (name: string, fields: Record<string, unknown>) => void;
}

export class Commands {
  readonly #parts: Parts;
  /** What had the focus before the search. */
  #searchFrom: HTMLElement | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Runs a key's command. */
  key(event: KeyboardEvent): void {
    const { showing, focus, feed, openDialog } = this.#parts;
    handleKey(event, {
      step: (by) => this.#step(by),
      escape: () => this.#escape(),
      search: () => this.search(),
      reply: () => this.#reply(),
      write: () => void focus.toText(),
      presentations: () =>
        showing.go(showing.slot === null ? { slot: showing.conversation?.slots.first ?? 1 } : {}),
      unread: () => focus.message?.markUnread(),
      palette: () =>
        openDialog("palette", { withoutEvents: showing.conversation?.feed.withoutEvents === true }),
      map: () => openDialog("keyboard", {}),
      oldest: () => void feed.value?.toStart(),
      newest: () => void feed.value?.toEnd(),
    });
  }

  /** Opens the search in the open Group, or closes it. */
  search(): void {
    const { showing, layout } = this.#parts;
    if (showing.searching) {
      this.endSearch();
      return;
    }
    this.#searchFrom = document.activeElement instanceof HTMLElement ? document.activeElement : null;
    if (layout.breadth === "narrow") layout.show("feed");
    showing.go({ search: "" });
  }

  /** The focus goes back to where it was before the search. */
  endSearch(): void {
    this.#parts.showing.go({});
    if (this.#searchFrom?.isConnected === true) this.#searchFrom.focus();
    else this.#parts.composer.value?.focus();
    this.#searchFrom = null;
  }

  /** Closes what is shown beside the feed: a thread, or a slot. */
  endThread(): void {
    this.#parts.showing.go({});
    void this.#parts.focus.toFeed();
  }

  #step(by: number): void {
    const { groups, showing, leave } = this.#parts;
    const { list } = groups;
    const at = list.findIndex((group) => group.group_id === showing.groupId);
    const next = list[at + by];
    if (next === undefined) return;
    leave(() => {
      showing.visit({ groupId: next.group_id });
      announce(next.title);
    });
  }

  /**
   * Replies to the message in focus, else to the newest request that waits for the person, else to
   * the newest message to them.
   */
  #reply(): void {
    const { showing, focus, composer } = this.#parts;
    const { message } = focus;
    if (message !== null) {
      message.reply();
      return;
    }
    const { requests, feed } = showing.conversation ?? {};
    const messages = feed?.rows.filter((row) => row.kind === "chat.message");
    const newest =
      requests?.list[0] ?? messages?.findLast(({ by, data }) => by !== "user" && data.to.includes("user"));
    if (newest === undefined) void focus.toText();
    else composer.value?.reply(newest, null);
  }

  /**
   * Closes the topmost thing; from the text, the focus goes to the feed. False when there was
   * nothing to do.
   */
  #escape(): boolean {
    const { showing, feed, composer } = this.#parts;
    if (showing.searching) this.endSearch();
    else if (composer.value?.escape() === true) composer.value.focus();
    else if (showing.thread !== null || showing.slot !== null) this.endThread();
    else if (document.activeElement?.matches("svc-composer *") === true) feed.value?.focusRow();
    else return false;
    return true;
  }
}
