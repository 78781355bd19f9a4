/** `<svc-workbench>`: the columns, the keys, and which Group is open. */
import { html, nothing } from "lit";
import { createRef } from "lit/directives/ref.js";
import "../../actors/actors-panel.ts";
import "../../feed/attachment.ts";
import "../../groups/groups-column.ts";
import "../../connections/joined-banner.ts";
import "../../controls/menu.ts";
import "../../feed/message.ts";
import "./offline-banner.ts";
import "./settings-menu.ts";
import "./splitter.ts";
import "../../controls/time.ts";
import type { ComposerElement } from "../../composer/composer.ts";
import { AccountLink } from "../../connections/account-link.ts";
import { follow, View } from "../../controls/view.ts";
import type { FeedElement } from "../../feed/feed.ts";
import type { FrameEntry } from "../../hosts/frame.ts";
import type { Host, Viewer } from "../../hosts/host.ts";
import { chooseScreenReader, recallScreenReader } from "../../hosts/screen-reader.ts";
import type { FrameParts } from "../../instances/live-frame.ts";
import type { Notifications } from "../../notifications/notifications.ts";
import type { Conversation } from "../../state/conversation.ts";
import { DraftMarks } from "../../state/draft-marks.ts";
import { GroupsStore, readOrder } from "../../state/group-list.ts";
import type { ThemeChoice } from "./appearance.ts";
import { arranged } from "./arrangement.ts";
import { actorsColumn, groupsColumn } from "./columns.ts";
import { Commands } from "./commands.ts";
import { ConversationActions } from "./conversation-actions.ts";
import { conversationColumn } from "./conversation-column.ts";
import { closeDialogs, openDialog } from "./dialogs.ts";
import { takeDrops } from "./drops.ts";
import { Elsewhere } from "./elsewhere.ts";
import { Focus } from "./focus.ts";
import { welcome } from "./frame.ts";
import { hearing } from "./heard.ts";
import { Layout } from "./layout.ts";
import { Showing } from "./showing.ts";
import { keepUpToDate } from "./up-to-date.ts";

/** How often a visible window checks who joined the account. */
const ACCOUNT_EVERY_MS = 15_000;

class WorkbenchElement extends View {
  static override readonly properties = {
    host: { attribute: false },
    viewer: { attribute: false },
    signOut: { attribute: false },
    theme: {},
    notifications: { attribute: false },
    entry: { attribute: false },
    openFrame: { attribute: false },
    stale: { state: true },
    dragging: { state: true },
  };
  declare host: Host;
  declare viewer: Viewer;
  /** Null where the person is signed in by the editor. */
  declare signOut: (() => void) | null;
  declare theme: ThemeChoice | "";
  /** The browser's; null in an editor, which notifies by itself. */
  declare notifications: Notifications | null;
  /** The page around this one, which lists the Groups; null where this page is by itself. */
  declare entry: FrameEntry | null;
  /** Gets a proof for the frame of another instance; null where none can be shown. */
  declare openFrame: FrameParts["open"] | null;
  declare stale: boolean;
  /** Files are held over the page. */
  declare dragging: boolean;
  #groups!: GroupsStore;
  #layout!: Layout;
  #drafts!: DraftMarks;
  #account!: AccountLink;
  #showing!: Showing;
  #focus!: Focus;
  #commands!: Commands;
  #actions!: ConversationActions;
  /** Null where other instances can't be shown, or the person is restricted to this one. */
  #elsewhere: Elsewhere | null = null;
  /** An invitation of another account that brought the person here and that they haven't seen. */
  #invitation: string | null = null;
  #life: AbortController | null = null;
  readonly #feed = createRef<FeedElement>();
  readonly #composer = createRef<ComposerElement>();

  constructor() {
    super();
    this.signOut = null;
    this.theme = "";
    this.notifications = null;
    this.entry = null;
    this.openFrame = null;
    this.stale = false;
    this.dragging = false;
    follow(this, () => {
      const conversation = this.#conversation;
      return [
        this.#groups,
        this.#layout,
        this.#showing,
        this.#elsewhere,
        conversation?.group,
        conversation?.terminals,
        conversation?.questions,
      ];
    });
  }

  override connectedCallback(): void {
    this.#groups = new GroupsStore(this.host, (groupId) => {
      const conversation = this.#conversation;
      if (conversation !== null && (groupId === null || groupId === conversation.groupId))
        void conversation.group.refresh();
    });
    this.#groups.sort(readOrder(this.host.recall("groups-order")));
    this.#drafts = new DraftMarks(this.host);
    recallScreenReader(this.host);
    this.#layout = new Layout(this.host, innerWidth);
    this.#showing = new Showing({
      host: this.host,
      groups: this.#groups,
      layout: this.#layout,
      drafts: this.#drafts,
      covered: () => this.#live !== null,
      jump: async (eventId) => {
        await this.updateComplete;
        return (await this.#feed.value?.jump(eventId)) ?? true;
      },
      left: closeDialogs,
      opened: (groupId) => {
        if (this.notifications !== null) this.notifications.inView = groupId;
      },
    });
    const parts = {
      host: this.host,
      groups: this.#groups,
      layout: this.#layout,
      showing: this.#showing,
      feed: this.#feed,
      composer: this.#composer,
      leave: (then: () => void) => this.#leave(then),
      openDialog: (name: string, fields: Record<string, unknown>) => void this.#dialog(name, fields),
    };
    this.#focus = new Focus(this, parts);
    this.#commands = new Commands({ ...parts, focus: this.#focus });
    this.#actions = new ConversationActions({ ...parts, focus: this.#focus });
    this.#account = new AccountLink(
      this.host,
      ACCOUNT_EVERY_MS,
      () => document.visibilityState === "visible",
    );
    super.connectedCallback();
    if (this.#administrator) {
      if (this.openFrame !== null)
        this.#elsewhere = new Elsewhere({
          host: this.host,
          account: this.#account,
          layout: this.#layout,
          open: this.openFrame,
          ask: (fields) => this.#openNext("leave", fields),
        });
      this.#account.open();
    }
    this.#groups.open();
    this.#invitation = this.host.addresses.takeInvitation();
    this.#groups.subscribe(() => this.#arrive());
    this.#showing.begin();
    this.#life = new AbortController();
    const { signal } = this.#life;
    if (this.entry !== null) {
      const { entry } = this;
      // Without that code nothing ends what the person may no longer see.
      void this.#follow(entry, signal).catch(() => entry.end());
    }
    addEventListener("resize", () => this.#layout.resize(innerWidth), { signal });
    document.addEventListener("keydown", (event) => this.#commands.key(event), { signal });
    takeDrops(
      this.host,
      signal,
      (dragging) => (this.dragging = dragging),
      (files) => void this.#actions.drop(files),
    );
    keepUpToDate(
      {
        host: this.host,
        groups: this.#groups,
        showing: this.#showing,
        account: this.#administrator ? this.#account : null,
      },
      signal,
    );
    this.#hear(signal);
  }

  /** The page around this one. Its code is loaded where there is one. */
  async #follow(entry: FrameEntry, signal: AbortSignal): Promise<void> {
    const { followEntry } = await import("./framed.ts");
    if (signal.aborted) return;
    const release = followEntry(entry, {
      host: this.host,
      groups: this.#groups,
      showing: this.#showing,
      openConnections: () => void this.#dialog("connections", {}),
    });
    signal.addEventListener("abort", release);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#life?.abort();
    this.#showing.end();
    this.#focus.end();
    this.#groups.close();
    this.#account.close();
    this.#elsewhere?.end();
    this.#elsewhere = null;
  }

  #hear(signal: AbortSignal): void {
    const on = hearing(this, signal);
    on("open-group", (groupId) => this.#leave(() => this.#showing.visitNew(groupId)));
    on("show-instance", ({ instanceId, groupId, connections }) =>
      this.#elsewhere?.show(instanceId, groupId, connections),
    );
    on("leave-instance", () => this.#leave());
    on("sign-out", () => this.#leave(() => this.signOut?.()));
    on("show-groups", () => this.#layout.show("groups"));
    on("group-deleted", (groupId) => {
      this.#showing.deleted();
      this.#groups.forget(groupId);
    });
    on("dialog-closed", () => {
      void this.#focus.keep();
      if (this.#administrator) void this.#account.refresh();
      this.#arrive();
    });
    on("question-answering", (answering) => {
      const settled = (): void => void this.#focus.keep();
      answering.then(settled, settled);
    });
    on("group-reset", (groupId) => {
      this.#showing.close();
      this.#showing.open(groupId);
    });
    on("open-dialog", ({ name, ...fields }) => this.#openNext(name, fields));
    on("staleness", (stale) => {
      this.stale = stale;
    });
    on("choose-screen-reader", (chosen) => chooseScreenReader(this.host, chosen));
    on("open-address", (address) => this.#leave(() => this.#showing.follow(address)));
    on("sent", () => void this.#feed.value?.toEnd());
    on("suggest", (text) => this.#composer.value?.suggest(text));
    on("add-text", (text) => this.#actions.addText(text));
    on("search", () => this.#commands.search());
    on("go-to", (to) => this.#leave(() => this.#showing.visit(to)));
    on("choose-events", (shown) => this.#conversation?.leaveOutEvents(!shown));
    on("sort-groups", (order) => {
      this.host.remember("groups-order", order);
      this.#groups.sort(order);
    });
    on("close-search", () => this.#commands.endSearch());
    on("close-thread", () => this.#commands.endThread());
    on("close-presentations", () => this.#commands.endThread());
    on("found", (eventId) => this.#showing.go({ eventId }));
    on("searched", (sought) => this.#showing.settle(sought));
    on("copy-link", (to) => void this.#showing.copyLink(to));
    on("moved", () => this.#showing.moved((eventId) => this.#feed.value?.shows(eventId) !== false));
    on("open-terminal", (actorId) => this.#showing.go({ actorId }));
    on("close-terminal", (actorId) => this.#showing.terminalClosed(actorId));
    on("show-question", (questionId) => void this.#focus.toQuestion(questionId));
    on("write-to", (actorId) => this.#actions.writeTo(actorId));
    on("actor-operation", (asked) => this.#actions.operateActor(asked));
    on("group-state", (state) => this.#actions.setGroupState(state));
    on("message-action", (action) => this.#actions.actOnMessage(action));
  }

  get #administrator(): boolean {
    return this.viewer.kind === "administrator";
  }

  /**
   * Asks about the invitation that brought the person here, after a dialog that is open already.
   * Without an answer, nothing happens.
   */
  #arrive(): void {
    const invitation = this.#invitation;
    if (invitation === null || !this.#groups.loaded || this.querySelector("dialog[open]") !== null) return;
    this.#invitation = null;
    if (this.#administrator)
      void this.#dialog("sharing", { invitation }).then((opens) => {
        if (!opens) this.#invitation = invitation;
      });
    else
      this.#showing.fail(
        "Only an administrator of this instance can answer an invitation from another account.",
      );
  }

  get #conversation(): Conversation | null {
    return this.#showing.conversation;
  }

  protected override render() {
    const layout = this.#layout;
    return html`<div class="workbench ${layout.breadth} ${this.stale ? "stale" : ""}" data-page=${layout.page}>
      <svc-offline .host=${this.host}></svc-offline>
      <svc-joined .account=${this.#account}></svc-joined>
      ${arranged({
        remote: this.#elsewhere?.render() ?? nothing,
        layout,
        attention: this.#groups.attention,
        groups: () => this.#groupsColumn(),
        actors: () => this.#actorsColumn(),
        feed: () => this.#feedColumn(),
        terminals: (page) => this.#terminals(page),
        hasTerminals: this.#hasTerminals,
        full: this.#conversation?.terminals.full === true,
        sidebar: this.entry === null ? null : () => this.entry?.sidebar(),
      })}
    </div>`;
  }

  #groupsColumn() {
    return groupsColumn({
      groups: this.#groups,
      addresses: this.host.addresses,
      drafts: this.#drafts,
      account: this.#account,
      openId: this.#live === null ? (this.#conversation?.groupId ?? null) : null,
      layout: this.#layout,
      administrator: this.#administrator,
      mayLeave: this.signOut !== null,
      theme: this.theme,
      notifies: this.notifications !== null,
      instances: this.#elsewhere?.instances ?? null,
    });
  }

  /** The frame of another instance that is shown, if one is. */
  get #live() {
    return this.#elsewhere?.live ?? null;
  }

  /** Back to the own Groups if another instance is shown, then `then`. */
  #leave(then: () => void = () => {}): void {
    if (this.#elsewhere === null) then();
    else this.#elsewhere.leave(then);
  }

  #actorsColumn() {
    const conversation = this.#conversation;
    if (conversation === null) return nothing;
    return actorsColumn(conversation, this.#layout, this.#administrator, this.#settings());
  }

  /** In a frame there is no column of Groups to hold them. */
  #settings() {
    if (this.entry === null) return null;
    return html`<svc-settings-menu ?administrator=${this.#administrator} ?mayLeave=${this.signOut !== null} .theme=${this.theme}></svc-settings-menu>`;
  }

  #feedColumn() {
    const conversation = this.#conversation;
    if (conversation === null) return this.#welcome();
    return conversationColumn({
      conversation,
      host: this.host,
      groups: this.#groups,
      administrator: this.#administrator,
      problem: this.#showing.problem,
      search: this.#showing.search,
      filter: this.#showing.filter,
      thread: this.#showing.thread,
      slot: this.#showing.slot,
      narrow: this.#layout.breadth === "narrow",
      dragging: this.dragging,
      feed: this.#feed,
      composer: this.#composer,
    });
  }

  get #hasTerminals(): boolean {
    const conversation = this.#conversation;
    return conversation !== null && conversation.group.loaded && conversation.terminals.open.length > 0;
  }

  #terminals(page: boolean) {
    // Not a part of the first load: most Groups open without one.
    void import("../../terminals/terminals.ts");
    return html`<svc-terminals
      class=${page || this.#conversation?.terminals.full === true ? "filling" : "drawer"}
      .host=${this.host}
      .conversation=${this.#conversation}
      ?administrator=${this.#administrator}
      ?page=${page}
    ></svc-terminals>`;
  }

  #welcome() {
    if (!this.#groups.loaded) return nothing;
    const begin = this.#administrator ? () => void this.#dialog("create-group", {}) : null;
    return welcome(begin, this.#settings());
  }

  /** A dialog that leads to the next one closes first. */
  #openNext(name: string, fields: Record<string, unknown>): void {
    setTimeout(() => void this.#dialog(name, fields), 0);
  }

  /** Answers whether it opens. */
  async #dialog(name: string, fields: Record<string, unknown>): Promise<boolean> {
    const { host } = this;
    const conversation = this.#conversation;
    this.#showing.forgetProblem();
    const isStill = () => conversation === null || conversation === this.#conversation;
    try {
      return await openDialog(
        this,
        name,
        {
          host,
          groups: this.#groups,
          conversation,
          viewer: this.viewer,
          notifications: this.notifications,
          ...fields,
        },
        isStill,
      );
    } catch (error) {
      this.#showing.fail(error);
      return false;
    }
  }
}

customElements.define("svc-workbench", WorkbenchElement);
