/** `<svc-workbench>`: the columns, the keys, and which Group is open. */
import { html, nothing } from "lit";
import { createRef, ref } from "lit/directives/ref.js";
import "../../actors/actors-panel.ts";
import "../../feed/attachment.ts";
import "../../groups/groups-column.ts";
import "../../connections/joined-banner.ts";
import "../../controls/menu.ts";
import "../../feed/message.ts";
import "./offline-banner.ts";
import "./settings-menu.ts";
import "./splitter.ts";
import "../../terminals/terminals.ts";
import "../../controls/time.ts";
import { type Address, NOWHERE } from "../../../shared/address.ts";
import { isMissing, startProblem } from "../../actors/start-problem.ts";
import type { ComposerElement } from "../../composer/composer.ts";
import { DraftMarks } from "../../composer/draft-marks.ts";
import { AccountLink } from "../../connections/account-link.ts";
import { announce } from "../../controls/announce.ts";
import { copy } from "../../controls/copy.ts";
import { Polling } from "../../controls/polling.ts";
import { chooseScreenReader, recallScreenReader } from "../../controls/screen-reader.ts";
import { follow, View } from "../../controls/view.ts";
import { Conversation } from "../../feed/conversation.ts";
import type { FeedElement } from "../../feed/feed.ts";
import type { MessageElement } from "../../feed/message.ts";
import { GroupsStore, readOrder } from "../../groups/group-list.ts";
import type { Host, Viewer } from "../../hosts/host.ts";
import type { Notifications } from "../../notifications/notifications.ts";
import { type Action, actOnMessage, operateActor, setGroupState } from "./actions.ts";
import type { ThemeChoice } from "./appearance.ts";
import { actorsColumn, groupsColumn } from "./columns.ts";
import { conversationColumn } from "./conversation-column.ts";
import { openDialog } from "./dialogs.ts";
import { takeDrops } from "./drops.ts";
import { bottomBar, rail, sideTabs, welcome } from "./frame.ts";
import { hearing } from "./heard.ts";
import { handleKey } from "./keys.ts";
import { Layout, type Side } from "./layout.ts";
import { Navigation } from "./navigation.ts";
import { addText, isRewriting, type Rewriting, rewrite } from "./writing.ts";

/** How often a visible window without the focus checks for text that another one wrote. */
const LOOK_EVERY_MS = 3000;
/** How often a visible window checks who joined the account. */
const ACCOUNT_EVERY_MS = 15_000;

class WorkbenchElement extends View {
  static override readonly properties = {
    host: { attribute: false },
    viewer: { attribute: false },
    mayLeave: { type: Boolean },
    theme: {},
    notifications: { attribute: false },
    conversation: { state: true },
    searching: { state: true },
    thread: { state: true },
    stale: { state: true },
    dragging: { state: true },
    problem: { state: true },
  };
  declare host: Host;
  declare viewer: Viewer;
  declare mayLeave: boolean;
  declare theme: ThemeChoice | "";
  /** The browser's; null in an editor, which notifies by itself. */
  declare notifications: Notifications | null;
  declare conversation: Conversation | null;
  declare searching: boolean;
  /** A message of the thread that is shown. */
  declare thread: string | null;
  declare stale: boolean;
  /** Files are held over the page. */
  declare dragging: boolean;
  declare problem: string | null;
  #groups!: GroupsStore;
  #layout!: Layout;
  #drafts!: DraftMarks;
  #account!: AccountLink;
  /** A Group that was just created. The list may not have it yet. */
  #expected: string | null = null;
  #navigation!: Navigation;
  #searchFrom: HTMLElement | null = null;
  /** The Group that an address has named. */
  #named: string | null = null;
  #life: AbortController | null = null;
  readonly #polling = new Polling(
    () => document.visibilityState === "visible",
    () => {
      void this.#groups.refresh();
      void this.conversation?.group.refresh();
    },
  );
  readonly #feed = createRef<FeedElement>();
  readonly #composer = createRef<ComposerElement>();

  constructor() {
    super();
    this.mayLeave = false;
    this.theme = "";
    this.notifications = null;
    this.conversation = null;
    this.searching = false;
    this.thread = null;
    this.stale = false;
    this.dragging = false;
    this.problem = null;
    follow(this, () => {
      const { conversation } = this;
      return [
        this.#groups,
        this.#layout,
        conversation?.group,
        conversation?.terminals,
        conversation?.questions,
      ];
    });
  }

  override connectedCallback(): void {
    this.#groups = new GroupsStore(this.host, (groupId) => {
      const { conversation } = this;
      if (conversation !== null && (groupId === null || groupId === conversation.groupId))
        void conversation.group.refresh();
    });
    this.#groups.sort(readOrder(this.host.recall("groups-order")));
    this.#drafts = new DraftMarks(this.host);
    recallScreenReader(this.host);
    this.#layout = new Layout(this.host, innerWidth);
    this.#groups.subscribe(() => this.#onGroups());
    this.#account = new AccountLink(
      this.host,
      ACCOUNT_EVERY_MS,
      () => document.visibilityState === "visible",
    );
    super.connectedCallback();
    if (this.#administrator) this.#account.open();
    this.#groups.open();
    const last = this.host.recall("group");
    this.#navigation = new Navigation(this.host.addresses, (address, left) => this.#show(address, left));
    const { address } = this.#navigation;
    if (address.groupId !== null) this.#show(address, null);
    else if (typeof last === "string") this.#open(last);
    this.#life = new AbortController();
    const { signal } = this.#life;
    const returned = (): void => {
      this.#polling.look();
      this.conversation?.returned();
      if (this.#administrator) void this.#account.refresh();
    };
    addEventListener("resize", () => this.#layout.resize(innerWidth), { signal });
    addEventListener("focus", returned, { signal });
    document.addEventListener("visibilitychange", returned, { signal });
    document.addEventListener("keydown", this.#onKey, { signal });
    takeDrops(
      this.host,
      signal,
      (dragging) => (this.dragging = dragging),
      (files) => void this.#drop(files),
    );
    const releaseConnection = this.host.watchConnection((connection) => this.#polling.connection(connection));
    const looking = setInterval(() => {
      if (document.visibilityState === "visible" && !document.hasFocus())
        void this.conversation?.draft.refresh();
    }, LOOK_EVERY_MS);
    signal.addEventListener("abort", () => {
      releaseConnection();
      clearInterval(looking);
    });
    this.#hear(signal);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#life?.abort();
    this.#navigation.close();
    this.#polling.close();
    this.conversation?.close();
    this.#groups.close();
    this.#account.close();
  }

  #hear(signal: AbortSignal): void {
    const on = hearing(this, signal);
    on("open-group", (groupId) => {
      this.#expected = groupId;
      this.#navigation.go({ groupId });
      if (this.#layout.breadth === "narrow") this.#layout.show("feed");
    });
    on("group-deleted", (groupId) => {
      this.#expected = null;
      this.#close();
      this.#groups.forget(groupId);
    });
    on("dialog-closed", () => {
      void this.#keepFocus();
      if (this.#administrator) void this.#account.refresh();
    });
    on("question-answering", (answering) => {
      const settled = (): void => void this.#keepFocus();
      answering.then(settled, settled);
    });
    on("group-reset", (groupId) => {
      this.#close();
      this.#open(groupId);
    });
    on("open-dialog", ({ name, ...fields }) => {
      // A dialog that leads to the next one closes first.
      setTimeout(() => void this.#dialog(name, fields), 0);
    });
    on("staleness", (stale) => {
      this.stale = stale;
    });
    on("choose-screen-reader", (chosen) => chooseScreenReader(this.host, chosen));
    on("open-address", (address) => this.#follow(address));
    on("sent", () => void this.#feed.value?.toEnd());
    on("suggest", (text) => this.#composer.value?.suggest(text));
    on("add-text", (text) => void this.#addText(text));
    on("search", () => this.#search());
    on("go-to", (to) => this.#navigation.go(to));
    on("choose-events", (shown) => this.conversation?.leaveOutEvents(!shown));
    on("sort-groups", (order) => {
      this.host.remember("groups-order", order);
      this.#groups.sort(order);
    });
    on("close-search", () => this.#endSearch());
    on("close-thread", () => this.#endThread());
    on("found", (eventId) => this.#go({ eventId }));
    on("searched", (search) => this.#settle({ search }));
    on("copy-link", (to) => void this.#copyLink(to));
    on("moved", () => {
      const { eventId } = this.#navigation.address;
      if (eventId !== null && this.#feed.value?.shows(eventId) === false) this.#settle({});
    });
    on("open-terminal", (actorId) => this.#go({ actorId }));
    on("close-terminal", (actorId) => {
      if (actorId === this.#navigation.address.actorId) this.#settle({});
    });
    on("write-to", (actorId) => this.#writeTo(actorId));
    on("actor-operation", (asked) =>
      this.#act(operateActor, asked, (error) => {
        if (!isMissing(error)) return false;
        // The remedy is another command, and it is offered there.
        void this.#dialog("edit-actor", { actor: asked.actor, problem: startProblem(error) });
        return true;
      }),
    );
    on("group-state", (state) => this.#act(setGroupState, state));
    on("message-action", (action) => {
      if (action.kind === "reply") this.#composer.value?.reply(action.event, action.quote ?? null);
      else if (action.kind === "jump") this.#go({ eventId: action.target ?? action.event.id });
      else if (isRewriting(action)) void this.#rewrite(action);
      else this.#act(actOnMessage, action);
    });
  }

  get #administrator(): boolean {
    return this.viewer.kind === "administrator";
  }

  #onGroups(): void {
    const { attention, list, loaded } = this.#groups;
    document.title = `${attention > 0 ? `(${attention}) ` : ""}${this.#groups.find(this.conversation?.groupId ?? null)?.title ?? "Workbench"}`;
    if (!loaded) return;
    const summary = this.#groups.find(this.conversation?.groupId ?? null);
    const isKnown = summary !== undefined;
    if (isKnown) this.conversation?.noteUnread(summary.first_unread);
    const { conversation } = this;
    const isGone = !isKnown && conversation !== null && conversation.groupId !== this.#expected;
    const isInVain = isGone && this.#named === conversation.groupId;
    if (isKnown) {
      this.#expected = null;
      this.#named = null;
    } else if (isGone) this.#close();
    const [first] = list;
    if (this.conversation !== null || first === undefined) return;
    this.#open(first.group_id);
    if (isInVain)
      this.problem = "The address names a Group that doesn’t exist here, or that you have no access to.";
  }

  /** Goes to something in the open Group. */
  #go(to: Partial<Address>): void {
    if (this.conversation !== null) this.#navigation.go({ groupId: this.conversation.groupId, ...to });
  }

  /** What is shown in the open Group has another address now. */
  #settle(to: Partial<Address>): void {
    if (this.conversation !== null) this.#navigation.settle({ groupId: this.conversation.groupId, ...to });
  }

  #show({ groupId, eventId, threadId, actorId, search }: Address, left: Address | null): void {
    if (groupId !== null) {
      if (left !== null || !this.#groups.loaded) this.#named = groupId;
      this.#open(groupId, eventId);
    }
    const { conversation } = this;
    if (conversation === null) return;
    const narrow = this.#layout.breadth === "narrow";
    this.searching = search !== null;
    this.thread = threadId;
    conversation.marks.returned();
    if (threadId !== null && narrow) this.#layout.show("feed");
    if (actorId !== null) {
      conversation.terminals.show(actorId);
      if (narrow) this.#layout.show("terminals");
    } else if (left !== null && left.actorId !== null && left.groupId === conversation.groupId) {
      conversation.terminals.close(left.actorId);
      if (narrow) this.#layout.show("feed");
    }
    if (eventId !== null) void this.#jump(eventId);
  }

  /** Goes where a notification leads. */
  #follow(address: Address): void {
    const isTerminal = address.actorId !== null;
    if (this.#layout.breadth === "narrow" && !isTerminal) this.#layout.show("feed");
    this.#navigation.go(address);
  }

  async #jump(eventId: string): Promise<void> {
    const { conversation } = this;
    if (this.#layout.breadth === "narrow") this.#layout.show("feed");
    await this.updateComplete;
    const found = (await this.#feed.value?.jump(eventId)) ?? true;
    if (!found && this.conversation === conversation) this.problem = "This Group has no such message.";
  }

  async #copyLink(to: Partial<Address>): Promise<void> {
    const groupId = this.conversation?.groupId;
    if (groupId === undefined) return;
    try {
      await copy(await this.host.addresses.link({ ...NOWHERE, groupId, ...to }));
    } catch (error) {
      this.#fail(error);
    }
  }

  #open(groupId: string, eventId: string | null = null): void {
    if (this.conversation?.groupId === groupId) return;
    this.conversation?.close();
    this.problem = null;
    this.searching = false;
    this.thread = null;
    const inView = () => document.visibilityState === "visible";
    // What lies over the feed hides it.
    const looking = () => inView() && document.hasFocus() && !this.searching && this.thread === null;
    this.conversation = new Conversation(this.host, groupId, looking, inView);
    const { draft } = this.conversation;
    const mark = () => this.#drafts.mark(groupId, draft.draft);
    draft.subscribe(mark);
    this.conversation.open(eventId);
    void this.conversation.draftRead.then(mark);
    this.host.remember("group", groupId);
    if (this.#navigation.address.groupId !== groupId) this.#navigation.settle({ groupId });
    if (this.notifications !== null) this.notifications.inView = groupId;
    this.#onGroups();
  }

  #close(): void {
    this.conversation?.close();
    this.conversation = null;
    this.host.remember("group", null);
    this.#navigation.settle({});
  }

  protected override render() {
    const { breadth, page } = this.#layout;
    return html`<div class="workbench ${breadth} ${this.stale ? "stale" : ""}" data-page=${page}>
      <svc-offline .host=${this.host}></svc-offline>
      <svc-joined .account=${this.#account}></svc-joined>
      <div class="columns-of-workbench">${breadth === "wide" ? this.#wide() : breadth === "medium" ? this.#medium() : this.#narrow()}</div>
      ${
        breadth !== "narrow" || (this.#onTerminals && this.conversation?.terminals.full === true)
          ? nothing
          : bottomBar(this.#layout, this.#groups.attention, this.#hasTerminals)
      }
    </div>`;
  }

  #wide() {
    return html`${this.#side("groups", "Groups and settings", this.#groupsColumn())}${this.#center()}${this.#side("actors", "Actors", this.#actorsColumn())}`;
  }

  #medium() {
    const { side } = this.#layout;
    const content = side === "groups" ? this.#groupsColumn() : this.#actorsColumn();
    return html`${this.#side("groups", "Groups and Actors", html`${sideTabs(this.#layout)}${content}`)}${this.#center()}`;
  }

  /** A column with its movable edge, or its strip when it is collapsed. */
  #side(side: Side, label: string, content: unknown) {
    if (this.#layout.collapsed(side))
      return rail(this.#layout, side, side === "groups" ? this.#groups.attention : 0);
    return html`<aside
      class="column side ${side}"
      aria-label=${label}
      ${ref((element) => this.#size(element, side))}
    >
      ${content}<svc-splitter .layout=${this.#layout} .side=${side}></svc-splitter>
    </aside>`;
  }

  #narrow() {
    const { page } = this.#layout;
    if (this.#onTerminals) return html`<main class="column center">${this.#terminals(true)}</main>`;
    if (page === "feed" || page === "terminals") return this.#center();
    return html`<main class="column side full">
      <h1 class="only-heard">${page === "groups" ? "Groups" : "Actors"}</h1>
      ${page === "groups" ? this.#groupsColumn() : this.#actorsColumn()}
    </main>`;
  }

  #size(element: Element | undefined, side: Side): void {
    if (element instanceof HTMLElement) element.style.setProperty("width", `${this.#layout.width(side)}px`);
  }

  #groupsColumn() {
    return groupsColumn({
      groups: this.#groups,
      addresses: this.host.addresses,
      drafts: this.#drafts,
      openId: this.conversation?.groupId ?? null,
      layout: this.#layout,
      administrator: this.#administrator,
      mayLeave: this.mayLeave,
      theme: this.theme,
      notifies: this.notifications !== null,
    });
  }

  #actorsColumn() {
    return this.conversation === null
      ? nothing
      : actorsColumn(this.conversation, this.#layout, this.#administrator);
  }

  #center() {
    const { conversation } = this;
    if (conversation === null) return html`<main class="column center">${this.#welcome()}</main>`;
    const drawer = this.#hasTerminals && this.#layout.breadth !== "narrow";
    // The terminals keep their place in the document, so that filling the page doesn't interrupt
    // typing.
    return html`<main class="column center">
      ${drawer && conversation.terminals.full ? nothing : this.#conversation(conversation)}
      ${drawer ? this.#terminals(false) : nothing}
    </main>`;
  }

  #conversation(conversation: Conversation) {
    return conversationColumn({
      conversation,
      host: this.host,
      groups: this.#groups,
      administrator: this.#administrator,
      problem: this.problem,
      search: this.searching ? (this.#navigation.address.search ?? "") : null,
      thread: this.thread,
      dragging: this.dragging,
      feed: this.#feed,
      composer: this.#composer,
    });
  }

  get #hasTerminals(): boolean {
    const { conversation } = this;
    return conversation !== null && conversation.group.loaded && conversation.terminals.open.length > 0;
  }

  /** The page of a narrow window shows them. */
  get #onTerminals(): boolean {
    return this.#layout.page === "terminals" && this.#hasTerminals;
  }

  #terminals(page: boolean) {
    return html`<svc-terminals
      class=${page || this.conversation?.terminals.full === true ? "filling" : "drawer"}
      .host=${this.host}
      .conversation=${this.conversation}
      ?administrator=${this.#administrator}
      ?page=${page}
    ></svc-terminals>`;
  }

  #welcome() {
    if (!this.#groups.loaded) return nothing;
    return welcome(this.#administrator ? () => void this.#dialog("create-group", {}) : null);
  }

  async #dialog(name: string, fields: Record<string, unknown>): Promise<void> {
    const { host, conversation } = this;
    this.problem = null;
    try {
      await openDialog(this, name, {
        host,
        groups: this.#groups,
        conversation,
        viewer: this.viewer,
        notifications: this.notifications,
        ...fields,
      });
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The dialog's action may have removed what had the focus before. */
  async #keepFocus(): Promise<void> {
    await this.updateComplete;
    await new Promise((resolve) => requestAnimationFrame(resolve));
    const { activeElement } = document;
    if (activeElement !== null && activeElement !== document.body) return;
    if (this.#composer.value !== undefined) this.#composer.value.focus();
    else this.querySelector<HTMLElement>(".empty .button, .group-row, button")?.focus();
  }

  #writeTo(actorId: string): void {
    const draft = this.conversation?.draft;
    if (draft === undefined) return;
    const to = draft.draft.remote === null ? draft.draft.to : [];
    if (!to.includes(actorId)) draft.update({ to: [...to, actorId], elsewhere: null, remote: null });
    void this.#write();
  }

  async #addText(text: string): Promise<void> {
    const { conversation } = this;
    if (conversation === null) return;
    await addText(conversation, text);
    if (this.conversation === conversation) await this.#write();
  }

  async #rewrite(action: Rewriting): Promise<void> {
    const { conversation } = this;
    if (conversation === null) return;
    await rewrite(conversation, action);
    if (this.conversation === conversation) await this.#write();
  }

  /** Files go with the message that is being written, wherever on the page they were dropped. */
  async #drop(dropped: Promise<readonly File[]>): Promise<void> {
    const { conversation } = this;
    if (conversation === null || document.querySelector("dialog[open]") !== null) {
      dropped.catch(() => {});
      return;
    }
    conversation.terminals.restore();
    try {
      const files = await dropped;
      await this.#write();
      // They belong to the Group that they were dropped on.
      if (this.conversation === conversation) this.#composer.value?.take(files);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #write(): Promise<void> {
    if (this.#layout.breadth === "narrow") this.#layout.show("feed");
    await this.updateComplete;
    this.#composer.value?.focus();
  }

  /** `remedy` returns whether it handles a failure. */
  #act<Asked>(run: Action<Asked>, asked: Asked, remedy: (error: unknown) => boolean = () => false): void {
    const { host, conversation } = this;
    if (conversation === null) return;
    this.problem = null;
    run(host, conversation, asked).catch((error: unknown) => {
      if (!remedy(error)) this.#fail(error);
    });
  }

  #fail(error: unknown): void {
    this.problem = error instanceof Error ? error.message : String(error);
  }

  #search(): void {
    if (this.searching) {
      this.#endSearch();
      return;
    }
    this.#searchFrom = document.activeElement instanceof HTMLElement ? document.activeElement : null;
    if (this.#layout.breadth === "narrow") this.#layout.show("feed");
    this.#go({ search: "" });
  }

  #endSearch(): void {
    this.#go({});
    if (this.#searchFrom?.isConnected === true) this.#searchFrom.focus();
    else this.#composer.value?.focus();
    this.#searchFrom = null;
  }

  #endThread(): void {
    this.#go({});
    void this.updateComplete.then(() => this.#feed.value?.focusRow());
  }

  #step(by: number): void {
    const { list } = this.#groups;
    const at = list.findIndex((group) => group.group_id === this.conversation?.groupId);
    const next = list[at + by];
    if (next === undefined) return;
    this.#navigation.go({ groupId: next.group_id });
    announce(next.title);
  }

  /** Replies to the message in focus, else to the newest one from someone else. */
  #reply(): void {
    const focused = document.activeElement?.closest<MessageElement>("svc-message") ?? null;
    if (focused !== null) {
      focused.reply();
      return;
    }
    const messages = this.conversation?.feed.rows.filter((row) => row.kind === "chat.message");
    const newest = messages?.findLast(({ by }) => by !== "user");
    if (newest !== undefined) this.#composer.value?.reply(newest, null);
  }

  readonly #onKey = (event: KeyboardEvent): void =>
    handleKey(event, {
      step: (by) => this.#step(by),
      escape: () => this.#escape(),
      search: () => this.#search(),
      reply: () => this.#reply(),
      write: () => void this.#write(),
      palette: () =>
        void this.#dialog("palette", {
          withoutEvents: this.conversation?.feed.withoutEvents === true,
        }),
      map: () => void this.#dialog("keyboard", {}),
      oldest: () => void this.#feed.value?.toStart(),
      newest: () => void this.#feed.value?.toEnd(),
    });

  /**
   * Closes the topmost thing; from the text, the focus goes to the feed. False when there was
   * nothing to do.
   */
  #escape(): boolean {
    if (this.searching) this.#endSearch();
    else if (this.#composer.value?.escape() === true) this.#composer.value.focus();
    else if (this.thread !== null) this.#endThread();
    else if (document.activeElement?.matches("svc-composer *") === true) this.#feed.value?.focusRow();
    else return false;
    return true;
  }
}

customElements.define("svc-workbench", WorkbenchElement);
