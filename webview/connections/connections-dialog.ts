/**
 * `<svc-connections-dialog>`: connections of the open Group, of every kind. The daemon's state is
 * polled. What the person is typing is kept apart from it, so that no answer changes it.
 */

import { html, nothing, type PropertyValues } from "lit";
import { accountStateWords } from "../../shared/account-words.ts";
import { pastedInvitation } from "../../shared/address.ts";
import { CONNECTION_CHOICES } from "../../shared/connection-choices.ts";
import { remedyForChange } from "../../shared/connection-words.ts";
import { awaitsApproval, isPast } from "../../shared/connections-brief.ts";
import { type InvitationClaims, invitationClaims } from "../../shared/direct-invitation.ts";
import { shownName } from "../../shared/foreign-text.ts";
import type { Connection } from "../../shared/operations/connect.ts";
import type { DirectRelation } from "../../shared/operations/direct.ts";
import { sharingSentence } from "../../shared/sharing-words.ts";
import { labelled } from "../../shared/voice.ts";
import { announce } from "../controls/announce.ts";
import { failure, skeleton } from "../controls/controls.ts";
import { DialogView } from "../controls/dialog.ts";
import { icon } from "../controls/icons.ts";
import { button } from "../controls/toolkit.ts";
import { follow } from "../controls/view.ts";
import type { Host } from "../hosts/host.ts";
import type { Conversation } from "../state/conversation.ts";
import { GroupConnections } from "../state/group-connections.ts";
import { AccountLink } from "./account-link.ts";
import { connectionCard } from "./connection-card.ts";
import { externalCard, instanceCard } from "./instance-card.ts";
import { invitationShown, invitationToTake } from "./invitation.ts";
import {
  isComplete,
  type ListenerDraft,
  listenerDraft,
  listenerFacts,
  listenerForm,
  listenerProblem,
} from "./listener-form.ts";
import { remedied } from "./remedied.ts";

/** No connection's id. */
const LISTENER = "listener";

/** How often the state is polled while the dialog is open. */
const EVERY_MS = 1500;

type Page = "list" | "choice" | "invitation" | "join" | "listener";

class ConnectionsDialog extends DialogView {
  static override readonly properties = {
    ...DialogView.properties,
    page: { state: true },
    listener: { state: true },
    inviting: { state: true },
    made: { state: true },
    pasted: { state: true },
    ending: { state: true },
  };
  declare host: Host;
  declare conversation: Pick<Conversation, "groupId" | "group" | "connections">;
  /** What it begins with. */
  declare first: "list" | "choice" | "join";
  declare page: Page;
  /** The listener's form; null while it is closed. */
  declare listener: ListenerDraft | null;
  /** The listener's form was opened in order to invite. */
  declare inviting: boolean;
  /** The invitation's text, which is a secret and is kept nowhere else. */
  declare made: string | null;
  declare pasted: string;
  /** The connection or listener whose end is being confirmed. */
  declare ending: string | null;
  #connections!: GroupConnections;
  #account!: AccountLink;

  constructor() {
    super();
    this.first = "list";
    this.page = "list";
    this.listener = null;
    this.inviting = false;
    this.made = null;
    this.pasted = "";
    this.ending = null;
    follow(this, () => [this.#connections, this.#account, this.conversation?.group]);
  }

  override connectedCallback(): void {
    this.#connections = new GroupConnections(
      this.host,
      this.conversation.groupId,
      EVERY_MS,
      () => !document.hidden,
    );
    this.#account = new AccountLink(this.host, EVERY_MS, () => !document.hidden);
    super.connectedCallback();
    this.#connections.open();
    this.#account.open();
    void this.#connections.identify();
    if (this.first !== "list") this.#go(this.first);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#connections.close();
    this.#account.close();
    void this.conversation.connections.refresh();
  }

  /** Where the focus goes when another part of the dialog replaces the one that had it. */
  protected override updated(changed: PropertyValues): void {
    // The Group's header says the same.
    this.conversation.connections.take(this.#connections);
    if (!changed.has("page") && !changed.has("ending")) return;
    const to =
      this.ending === null
        ? this.querySelector<HTMLElement>(
            "[data-page] [autofocus], [data-page] textarea, [data-page] .command .icon-button, [data-page=choice] .button",
          )
        : this.querySelector<HTMLElement>(".destroy .button");
    if (to !== null) to.focus();
    else if (changed.get("page") !== undefined || changed.get("ending") !== undefined)
      this.querySelector<HTMLElement>(".dialog-foot .button")?.focus();
  }

  protected override heading(): string {
    switch (this.page) {
      case "choice":
        return "Connect a Group";
      case "invitation":
        return "Invitation";
      case "join":
        return "Accept an invitation";
      case "listener":
        return this.inviting ? "Listen and invite" : "Listener";
      case "list":
        return "Group connections";
    }
  }

  protected override get wide(): boolean {
    return true;
  }

  protected override content() {
    const { status, failure: stale } = this.#connections;
    return html`<div class="connections" data-page=${this.page}>
      ${status === null ? (stale === null ? skeleton(3, "list") : nothing) : this.#page()}
      ${stale === null ? nothing : failure(`${stale} What you see may be out of date.`)}
    </div>`;
  }

  #page() {
    switch (this.page) {
      case "choice":
        return this.#choice();
      case "invitation":
        return this.#invitation();
      case "join":
        return this.#join();
      case "listener":
        return this.#listenerPage();
      case "list":
        return this.#list();
    }
  }

  #list() {
    const status = this.#connections.status!;
    const { relations } = status;
    const sorted = [...relations].sort((one, other) => rank(one) - rank(other));
    return html`<p class="hint">A connection lets <bdi>${labelled(this.#title)}</bdi> and one Group on another instance write to each other and see the names of each other’s Actors. With your own account’s machines, all Groups can. It gives access to nothing else: no terminals, tools or history, and no files except those you send.</p>
      <section class="dialog-section">
        <div class="section-head">${this.#heading("Direct connections")}</div>
        ${
          sorted.length === 0
            ? html`<p class="empty-connections">${icon("plug")} <span>None. A Direct connection joins two Groups without an account.</span></p>`
            : html`<ul class="plain-list connection-list" aria-label="Direct connections">${sorted.map((relation) => this.#card(relation))}</ul>`
        }
      </section>
      ${this.#otherAccounts()}
      <section class="dialog-section">
        <div class="section-head">${this.#heading("Your account")}
          ${button({ label: this.#accountLabel, onClick: () => this.#openAccount() })}
        </div>
        ${this.#accountFacts()}
        ${
          this.#account.connections.length === 0
            ? nothing
            : html`<ul class="plain-list connection-list" aria-label="Machines of your account">${this.#account.connections.map((one) => instanceCard(one, this.#opening("")))}</ul>`
        }
      </section>
      <section class="dialog-section">
        <div class="section-head">${this.#heading("Listener of this instance")}
          <span class="buttons">
            ${status.listener === null ? nothing : button({ label: "Turn off…", disabled: this.busy, onClick: () => this.#ask(LISTENER) })}
            ${button({ label: status.listener === null ? "Turn on…" : "Change…", onClick: () => this.#openListener(false) })}
          </span>
        </div>
        ${listenerFacts(status)} ${this.ending === LISTENER ? this.#turningOff() : nothing}
      </section>`;
  }

  /** The three kinds, side by side: nobody has to know beforehand which one they need. */
  #choice() {
    return html`<p class="hint">Messages, files and replies work the same in all three.</p>
      <ul class="plain-list connection-list" aria-label="Kinds of connections">
        ${CONNECTION_CHOICES.map(({ kind, title, sentence }) => html`<li class="connection" data-kind=${kind}><strong>${title}</strong><p>${sentence}</p><div class="buttons">${this.#begin(kind)}</div></li>`)}
      </ul>`;
  }

  #begin(kind: Connection["kind"]) {
    switch (kind) {
      case "account":
        return button({ label: this.#accountLabel, onClick: () => this.#openAccount() });
      case "external":
        return button({ label: "Select this Group…", onClick: () => this.#share() });
      case "direct":
        return button({
          label: "Invite…",
          disabled: this.busy || this.#connections.status === null,
          onClick: () => void this.#invite(),
        });
    }
  }

  get #accountLabel(): string {
    return this.#account.shown?.state === "not_linked" ? "Link this machine…" : "Show the account…";
  }

  #openAccount(): void {
    this.#openNext("account", {});
  }

  /** Goes on with a connection to another account, or with an invitation to one. */
  #share(invitation: string | null = null): void {
    const { groupId } = this.conversation;
    this.#openNext("sharing", { groupId, groupTitle: this.#title, invitation });
  }

  #heading(words: string) {
    return this.embedded ? html`<h2>${words}</h2>` : html`<h3>${words}</h3>`;
  }

  #otherAccounts() {
    const { list, sharing } = this.#connections;
    const external = list.filter(({ kind }) => kind === "external");
    return html`<section class="dialog-section" data-section="external">
      <div class="section-head">${this.#heading("Other accounts")}
        ${button({ label: "Connect…", disabled: sharing === null, onClick: () => this.#share() })}
      </div>
      <p class="hint" role="status">${sharingSentence(sharing, Date.now())}</p>
      ${
        external.length === 0
          ? nothing
          : html`<ul class="plain-list connection-list" aria-label="Connections to other accounts">${external.map((one) => externalCard(one, sharing, this.#title, this.#opening(`/connect/${one.id}/disconnect`)))}</ul>`
      }
    </section>`;
  }

  /** Opens a page of the account service; null while this instance isn't linked to one. */
  #opening(path: string): (() => void) | null {
    const origin = this.#account.shown?.account_origin ?? null;
    return origin === null ? null : () => this.host.openLink(`${origin}${path}`);
  }

  #accountFacts() {
    const { shown } = this.#account;
    if (shown === null) return nothing;
    const { state, account_label: label, error } = shown;
    if (state === "not_linked" && error === null)
      return html`<p class="hint">Not linked. With an account, your machines find each other without invitations.</p>`;
    return html`<p class="hint">${sentenceCase(accountStateWords(state))}${label === null ? nothing : html` to <bdi>${labelled(label)}</bdi>`}.</p>
      ${error === null ? nothing : html`<p class="connection-error">${icon("warning")}<span><bdi>${shownName(error)}</bdi></span></p>`}`;
  }

  /** In its own dialog, after this one has closed. */
  #openNext(name: "account" | "sharing", fields: Record<string, unknown>): void {
    const { parentElement } = this;
    if (!this.embedded) this.close();
    parentElement?.dispatchEvent(
      new CustomEvent("open-dialog", { detail: { name, ...fields }, bubbles: true }),
    );
  }

  #turningOff() {
    return html`<div class="destroy" role="group" aria-label="Turn the listener off">
      <p>${icon("warning")} <span>All connections that others make to this instance go offline, in every Group. They stay approved and come back when the instance listens again. Open invitations can’t be used until then. Connections that this instance makes keep working.</span></p>
      <div class="buttons">
        ${button({ label: "Keep it on", onClick: () => this.#ask(null) })}
        <button type="button" class="danger-button" ?disabled=${this.busy} @click=${() => void this.#turnOff()}>Turn it off</button>
      </div>
    </div>`;
  }

  #ask(ending: string | null): void {
    this.ending = ending;
  }

  #card(relation: DirectRelation) {
    return connectionCard(relation, {
      connection: this.#connections.list.find(({ id }) => id === relation.id) ?? null,
      busy: this.busy,
      ending: this.ending === relation.id,
      approve: () => void this.#change("connect_direct_approve", relation.id, "Approved"),
      ask: (ending) => this.#ask(ending ? relation.id : null),
      end: ({ operation }) => void this.#change(operation, relation.id, "Done"),
    });
  }

  #invitation() {
    const claims = this.made === null ? null : invitationClaims(this.made);
    if (this.made === null || claims === null) return nothing;
    const came = this.#whoCame;
    return came === undefined
      ? html`${listenerProblem(this.#connections.status!, "Until then, no one can use this invitation.")}${invitationShown(this.made, claims)}`
      : html`<ul class="plain-list connection-list" aria-label="Who came">${this.#card(came)}</ul>`;
  }

  /** By the invitation that is shown. */
  get #whoCame(): DirectRelation | undefined {
    const id = this.made === null ? null : invitationClaims(this.made)?.id;
    return this.#connections.status?.relations.find((one) => one.id === id && one.state !== "invited");
  }

  #join() {
    const { status, instanceId } = this.#connections;
    return invitationToTake({
      pasted: this.pasted,
      claims: this.#claims,
      problem: this.#problemOf(this.#claims),
      instanceId,
      group: this.#title,
      isOfAccount: this.#accountInvitation !== null,
      known: status!.relations,
      onInput: (pasted) => {
        this.pasted = pasted;
      },
    });
  }

  /** What was pasted belongs to a connection with another account; null if it doesn't. */
  get #accountInvitation(): string | null {
    return pastedInvitation(this.pasted);
  }

  #listenerPage() {
    const { listener } = this;
    if (listener === null) return nothing;
    return html`${
      this.inviting
        ? html`<p class="hint">This instance must listen so that the people you invite can reach it. Choose where. You can turn it off at any time.</p>`
        : nothing
    }
    ${listenerForm(listener, this.#connections.status!, (change) => {
      this.listener = { ...listener, ...change };
    })}`;
  }

  get #title(): string {
    return this.conversation.group.group?.title ?? "this Group";
  }

  get #claims(): InvitationClaims | null {
    return invitationClaims(this.pasted);
  }

  /** Why it can't be accepted, as far as that shows before asking the daemon. */
  #problemOf(claims: InvitationClaims | null): string | null {
    if (this.pasted.trim() === "" || this.#accountInvitation !== null) return null;
    if (claims === null)
      return "This isn’t a complete invitation. Copy all of it, or ask for a new one. A Direct one begins with svc-direct:";
    if (claims.host.instance_id === this.#connections.instanceId)
      return "This instance made this invitation. It’s meant for a Group on another instance.";
    if (Date.parse(claims.expires_at) <= Date.now()) return "It has expired. Ask for a new invitation.";
    return null;
  }

  protected override footer() {
    const back = button({ label: "Back", onClick: () => this.#go("list") });
    switch (this.page) {
      case "invitation":
        return button({
          label: "Done",
          primary: this.#whoCame === undefined,
          onClick: () => this.#go("list"),
        });
      case "choice":
        return html`${back}
        ${button({ label: "Accept an invitation…", disabled: this.#connections.status === null, onClick: () => this.#go("join") })}`;
      case "join":
        return html`${back}
        ${
          this.#accountInvitation === null
            ? button({
                label: "Request connection",
                primary: true,
                disabled: !this.#mayJoin,
                onClick: () => this.submit(),
              })
            : button({ label: "Continue", primary: true, onClick: () => this.submit() })
        }`;
      case "listener":
        return html`${back}
        ${button({ label: this.inviting ? "Listen and invite" : "Save", primary: true, disabled: this.busy || this.listener === null || !isComplete(this.listener), onClick: () => this.submit() })}`;
      case "list":
        return html`${button({ label: "Accept an invitation…", disabled: this.#connections.status === null, onClick: () => this.#go("join") })}
        ${button({ label: "Connect a Group…", icon: "add", primary: true, onClick: () => this.#go("choice") })}`;
    }
  }

  get #mayJoin(): boolean {
    const claims = this.#claims;
    return !this.busy && claims !== null && this.#problemOf(claims) === null;
  }

  protected override submit(): void {
    if (this.page === "join" && this.#accountInvitation !== null) this.#share(this.#accountInvitation);
    else if (this.page === "join") void this.#take();
    else if (this.page === "listener") void this.#configure();
  }

  #go(page: Page): void {
    if (page === "join" && this.#connections.instanceId === null) void this.#connections.identify();
    this.page = page;
    this.problem = null;
    this.ending = null;
    if (page !== "invitation") this.made = null;
    if (page !== "listener") this.listener = null;
  }

  #openListener(inviting: boolean): void {
    this.inviting = inviting;
    this.listener = listenerDraft(this.#connections.status!);
    this.#go("listener");
  }

  async #invite(listener = this.#connections.status!.listener): Promise<void> {
    if (listener === null) return this.#openListener(true);
    await this.#do(async () => {
      const { invitation } = await this.host.call("connect_direct_invite", {
        group_id: this.conversation.groupId,
        expected_listener: listener,
      });
      this.made = invitation;
      this.#go("invitation");
    });
  }

  async #configure(): Promise<void> {
    const draft = this.listener;
    if (draft === null || !isComplete(draft)) return;
    const listener = { bind: draft.bind.trim(), address: draft.address.trim() };
    const done = await this.#do(() =>
      this.host.call("connect_direct_configure", {
        listener,
        display_name: draft.name.trim(),
        expected_listener: draft.before,
      }),
    );
    // If the person has gone on to something else, they stay there.
    if (!done || this.page !== "listener") return;
    // What is shown may be old, because the daemon may not have answered since.
    this.listener = { ...draft, before: listener };
    if (this.inviting) await this.#invite(listener);
    else this.#go("list");
  }

  async #turnOff(): Promise<void> {
    const { listener } = this.#connections.status!;
    const done = await this.#do(() =>
      this.host.call("connect_direct_configure", { listener: null, expected_listener: listener }),
    );
    if (done) this.ending = null;
  }

  async #take(): Promise<void> {
    if (!this.#mayJoin) return;
    const { pasted } = this;
    const done = await this.#do(() =>
      this.host.call("connect_direct_join", {
        group_id: this.conversation.groupId,
        invitation: pasted.trim(),
      }),
    );
    if (!done) return;
    announce("Requested. The other side must approve.");
    // If the person has gone on to something else, they stay there with what they typed.
    if (this.pasted !== pasted) return;
    this.pasted = "";
    if (this.page === "join") this.#go("list");
  }

  async #change(
    operation: "connect_direct_approve" | "connect_direct_revoke" | "connect_direct_remove",
    id: string,
    said: string,
  ): Promise<void> {
    const done = await this.#do(() => this.host.call(operation, { group_id: this.conversation.groupId, id }));
    if (!done) return;
    this.ending = null;
    announce(said);
    if (this.page === "invitation") this.#go("list");
  }

  /** Runs a change, then reads the new state. */
  #do(action: () => Promise<unknown>): Promise<boolean> {
    return this.act(() => remedied(action, remedyForChange, () => this.#connections.refresh()));
  }
}

function sentenceCase(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** First what waits for this person, then live connections, then ended ones. */
function rank(relation: DirectRelation): number {
  if (awaitsApproval(relation)) return 0;
  if (isPast(relation)) return 3;
  return relation.state === "active" ? 1 : 2;
}

customElements.define("svc-connections-dialog", ConnectionsDialog);
