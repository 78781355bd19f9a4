/** The pages by which two members connect one Group of each (docs/connections.md). */
import type { Clock } from "../../platform/clock.ts";
import { invitationQuery } from "../../shared/address.ts";
import { Refusal } from "../../shared/errors.ts";
import { shownName } from "../../shared/foreign-text.ts";
import { type Acting, type Connections, INCOMING_SHOWN, isOpen } from "../connections/connections.ts";
import { type Person, peopleOf } from "../connections/people.ts";
import type { Sharing } from "../connections/sharing.ts";
import type { Selection, Tickets } from "../connections/tickets.ts";
import { activeInstances, entryOf } from "../directory/instances.ts";
import type { GroupConnectionsTable, GroupInvitationsTable } from "../store/schema.ts";
import type { Store } from "../store/store.ts";
import { type Html, html } from "./html.ts";
import { ago, form, hidden, moment, page } from "./page.ts";
import type { MemberVisit, Shown } from "./site.ts";

export interface ConnectionPageDependencies {
  store: Store;
  clock: Clock;
  tickets: Tickets;
  connections: Connections;
  sharing: Sharing;
}

type People = ReadonlyMap<string, Person>;
/** An instance of the member whose Workbench has an address. */
interface Place {
  name: string;
  origin: string;
}
/** A Group as it was selected. */
interface Selected {
  title: string;
  name: string;
}

const LONGEST_ID = 64;
/** As many of the member's instances are offered. */
const PLACES = 8;

export class ConnectionPages {
  readonly #deps: ConnectionPageDependencies;

  constructor(deps: ConnectionPageDependencies) {
    this.#deps = deps;
  }

  /** The member's id, invitations and connections, and what was before. */
  async list(visit: MemberVisit): Promise<Shown> {
    const { store, connections } = this.#deps;
    const { member, browser } = visit;
    const { outgoing, incoming, connections: active, closed } = await connections.of(member.id);
    const people = await peopleOf(store.db, [
      ...[...outgoing, ...incoming, ...closed.invitations].flatMap((one) => [
        one.source_member,
        one.recipient_member,
      ]),
      ...[...active, ...closed.connections].flatMap((one) => [one.source_member, one.target_member]),
    ]);
    const places = incoming.length === 0 ? [] : await this.#placesOf(member.id);
    const body = html`<p>A connection joins one of your Groups with one Group of another member, so that the agents of both can write to each other. You don't need one between your own instances.</p>
<p>Your member id, which others need to invite you: <code class="id">${member.id}</code></p>
${
  incoming.length > 0 &&
  html`<h2>Invitations to you</h2>
<ul class="cards">${incoming.map((one) => this.#incoming(visit, one, people, places))}</ul>
${incoming.length === INCOMING_SHOWN && html`<p class="quiet">These are the latest ${incoming.length}. Reject some to see earlier ones.</p>`}`
}
<h2>Connections</h2>
${
  active.length === 0
    ? html`<p class="quiet">None. Start one with <code>svc connect invite</code> on the instance that has your Group, or in its Workbench, under “Group connections”.</p>`
    : html`<ul class="cards">${active.map((one) => this.#connection(visit, one, people))}</ul>`
}
${
  outgoing.length > 0 &&
  html`<h2>Invitations you sent</h2>
<ul class="cards">${outgoing.map((one) => this.#outgoing(visit, one, people))}</ul>`
}
${history(visit, closed, people)}`;
    return { page: page("Connections", browser, body) };
  }

  /** Shows what a selection would connect, and asks. Changes nothing. */
  async ask(visit: MemberVisit): Promise<Shown> {
    return this.#select(visit, null);
  }

  /** Invites, or accepts an invitation. */
  async decide(visit: MemberVisit): Promise<Shown> {
    const { fields } = visit;
    try {
      return fields["invitation"] === undefined ? await this.#invite(visit) : await this.#accept(visit);
    } catch (error) {
      // The selection may still be good: it stays in the form (EXT-077).
      const mayRepeat =
        error instanceof Refusal &&
        (error.status === 503 ||
          error.status === 429 ||
          error.code === "invalid_args" ||
          error.code === "conflict");
      if (!mayRepeat) return refused(visit, error);
      return this.#select(visit, error);
    }
  }

  async askDisconnect(visit: MemberVisit): Promise<Shown> {
    const connection = await this.#ownConnection(visit);
    if (connection.closed_at !== null) return { goTo: "/connect" };
    const people = await peopleOf(this.#deps.store.db, [connection.source_member, connection.target_member]);
    const { own, other, person } = endsOf(visit, connection, people);
    const body = html`<p>End the connection between your Group ${groupName(own)} and ${groupName(other)} of ${shownPerson(person)}?</p>
<p>Nothing more is delivered in either direction within two minutes. Messages and files that arrived stay, and agents go on with what they are doing. To connect the Groups again, one of you has to invite the other again.</p>
<div class="actions">${form(visit.browser, `/connect/${connection.id}/disconnect`, html`<button class="danger">End the connection</button>`)}
<p><a href="/connect">Keep it</a></p></div>`;
    return { page: page("End this connection?", visit.browser, body) };
  }

  async disconnect(visit: MemberVisit): Promise<Shown> {
    await this.#deps.sharing.end(visit.params["id"] ?? "", actingOf(visit));
    return { goTo: "/connect" };
  }

  async closeInvitation(visit: MemberVisit, state: "cancelled" | "rejected"): Promise<Shown> {
    await this.#deps.sharing.closeInvitation(visit.params["id"] ?? "", state, actingOf(visit));
    return { goTo: "/connect" };
  }

  async #invite(visit: MemberVisit): Promise<Shown> {
    const { store, sharing, clock } = this.#deps;
    const recipient = (visit.fields["recipient"] ?? "").trim().toLowerCase();
    const invitation = await sharing.invite(visit.fields["ticket"] ?? "", recipient, actingOf(visit));
    const person = (await peopleOf(store.db, [recipient])).get(recipient);
    const body = html`<p>${shownPerson(person)} can accept it ${until(invitation.expires_at, clock.now())}, on the page “Connections” of their account. Nothing is connected before that.</p>
<p>Tell them: this service sends no mail. <a href="/connect">Show my connections</a></p>`;
    return { page: page("Invitation sent", visit.browser, body) };
  }

  async #accept(visit: MemberVisit): Promise<Shown> {
    const { sharing, connections, store } = this.#deps;
    const invitation = await this.#invitation(visit);
    const id = await sharing.accept(visit.fields["ticket"] ?? "", invitation, actingOf(visit));
    const connection = (await connections.connection(id, visit.member.id))!;
    const people = await peopleOf(store.db, [connection.source_member, connection.target_member]);
    const { own, other, person } = endsOf(visit, connection, people);
    const body = html`<p>Your Group ${groupName(own)} and ${groupName(other)} of ${shownPerson(person)} are connected. Both instances learn of it within a minute.</p>
<p><a href="/connect">Show my connections</a></p>
${form(visit.browser, `/connect/${connection.id}/revoke`, html`<p class="quiet">Was this a mistake?</p><button class="danger">End it now</button>`)}`;
    return { page: page("Connected", visit.browser, body) };
  }

  async #select(visit: MemberVisit, problem: Refusal | null): Promise<Shown> {
    const { tickets, store } = this.#deps;
    let selection: Selection;
    let invitation: GroupInvitationsTable | null = null;
    try {
      selection = await tickets.read(visit.fields["ticket"] ?? "", visit.member.id);
      if (visit.fields["invitation"] !== undefined) invitation = await this.#openInvitation(visit);
    } catch (error) {
      return refused(visit, error);
    }
    const own = { title: selection.ticket.title, name: selection.ticket.instance_name };
    const status = problem?.status ?? 200;
    const notice = problem !== null && html`<p class="notice" role="alert">${problem.message}</p>`;
    if (invitation === null) return { status, page: this.#invitationForm(visit, own, notice) };
    const person = (await peopleOf(store.db, [invitation.source_member])).get(invitation.source_member);
    return { status, page: this.#acceptanceForm(visit, own, invitation, person, notice) };
  }

  #invitationForm(visit: MemberVisit, own: Selected, notice: Html | false): string {
    const { fields, browser } = visit;
    const recipient = shownName((fields["recipient"] ?? "").slice(0, LONGEST_ID));
    const body = html`${notice}
<p>You selected ${groupName(own)}. Whom do you invite to connect a Group with it?</p>
${form(
  browser,
  "/connect/select",
  html`${hidden("ticket", fields["ticket"] ?? "")}<label for="recipient">Member id of the other person</label>
<input id="recipient" name="recipient" value="${recipient}" autocomplete="off" spellcheck="false" required aria-describedby="where">
<p class="quiet" id="where">They find it on the page “Connections” of their own account.</p>
${powers(own)}
<div class="actions"><button class="main">Invite</button><a href="/connect">Don't invite anyone</a></div>`,
)}`;
    return page("Invite a member", browser, body);
  }

  #acceptanceForm(
    visit: MemberVisit,
    own: Selected,
    invitation: GroupInvitationsTable,
    person: Person | undefined,
    notice: Html | false,
  ): string {
    const { fields, browser } = visit;
    const other = sourceOf(invitation);
    const body = html`${notice}
<dl>
<dt>Who</dt><dd>${shownPerson(person)}</dd>
<dt>Their Group</dt><dd>${groupName(other)}</dd>
<dt>Your Group</dt><dd>${groupName(own)}</dd>
<dt>Invited</dt><dd>${ago(invitation.created_at, this.#deps.clock.now())}</dd>
</dl>
${powers(own)}
<p class="notice">Accept only if you know from this person, by another way, that they invited you: anyone can choose any name here.</p>
<div class="actions">${form(
      browser,
      "/connect/select",
      html`${hidden("ticket", fields["ticket"] ?? "")}${hidden("invitation", invitation.id)}<button class="main">Connect these Groups</button>`,
    )}${form(browser, `/connect/invitations/${invitation.id}/reject`, html`<button class="danger">Reject</button>`)}</div>`;
    return page("Connect these Groups?", browser, body);
  }

  /** Instances of the member whose Workbench a browser reaches. */
  async #placesOf(member: string): Promise<Place[]> {
    const rows = await activeInstances(this.#deps.store.db)
      .where("connect_instances.member_id", "=", member)
      .where("connect_instances.public_origin", "is not", null)
      .orderBy("connect_instances.registered_at", "desc")
      .limit(PLACES)
      .execute();
    return rows.map((row) => ({ name: entryOf(row).display_name, origin: row.public_origin ?? "" }));
  }

  #incoming(
    { browser }: MemberVisit,
    invitation: GroupInvitationsTable,
    people: People,
    places: readonly Place[],
  ): Html {
    const { id, expires_at: expiresAt } = invitation;
    const source = sourceOf(invitation);
    return html`<li class="card"><h3>${groupName(source)}</h3>
<p>${shownPerson(people.get(invitation.source_member))} invites you to connect a Group with it. You can accept ${until(expiresAt, this.#deps.clock.now())}.</p>
<p>To accept, choose your Group on the instance that has it: <code class="id">svc connect accept ${id}</code></p>
${
  places.length > 0 &&
  html`<p>Or choose it in the Workbench of ${places.map(({ name, origin }, index) => html`${index > 0 && ", "}<a href="${origin}/${invitationQuery(id)}"><bdi>${shownName(name)}</bdi></a>`)}.</p>`
}
${form(browser, `/connect/invitations/${id}/reject`, html`<button class="danger">Reject<span class="unseen"> the invitation to ${shownName(source.title)}</span></button>`, "inline")}</li>`;
  }

  #outgoing({ browser }: MemberVisit, invitation: GroupInvitationsTable, people: People): Html {
    const { id, expires_at: expiresAt } = invitation;
    const source = sourceOf(invitation);
    return html`<li class="card"><h3>${groupName(source)}</h3>
<p>${shownPerson(people.get(invitation.recipient_member))} hasn't answered yet, and can do so ${until(expiresAt, this.#deps.clock.now())}.</p>
${form(browser, `/connect/invitations/${id}/cancel`, html`<button>Cancel<span class="unseen"> the invitation for ${shownName(source.title)}</span></button>`, "inline")}</li>`;
  }

  #connection(visit: MemberVisit, connection: GroupConnectionsTable, people: People): Html {
    const { own, other, person } = endsOf(visit, connection, people);
    return html`<li class="card"><h3>${groupName(own)} with ${groupName(other)}</h3>
<p>${shownPerson(person)}</p><p class="quiet">Connected ${ago(connection.created_at, this.#deps.clock.now())}</p>
<p><a href="/connect/${connection.id}/disconnect">End<span class="unseen"> the connection with ${shownName(other.title)}</span> …</a></p></li>`;
  }

  async #invitation({ fields, member }: MemberVisit): Promise<GroupInvitationsTable> {
    const id = (fields["invitation"] ?? "").toLowerCase();
    const found = await this.#deps.connections.invitation(id, member.id);
    if (found?.recipient_member !== member.id) {
      throw new Refusal("not_found", {
        specifics: "There is no such invitation for this account.",
        remedy: "Check that you are signed in as the member who was invited.",
      });
    }
    return found;
  }

  async #openInvitation(visit: MemberVisit): Promise<GroupInvitationsTable> {
    const invitation = await this.#invitation(visit);
    if (isOpen(invitation, this.#deps.clock.now())) return invitation;
    throw new Refusal("connect_group_denied", {
      specifics: "This invitation was withdrawn, was answered before, or has expired.",
      remedy: "Ask the other member for a fresh one.",
    });
  }

  async #ownConnection({ params, member }: MemberVisit): Promise<GroupConnectionsTable> {
    const found = await this.#deps.connections.connection(params["id"] ?? "", member.id);
    if (found === null) throw new Refusal("not_found", { specifics: "There is no such connection." });
    return found;
  }
}

function actingOf({ member, address }: MemberVisit): Acting {
  return { member: member.id, address };
}

/** A definitive refusal explains, and offers nothing to send again (EXT-078, EXT-079). */
function refused({ browser }: MemberVisit, error: unknown): Shown {
  if (!(error instanceof Refusal) || error.status >= 500) throw error;
  const body = html`<p class="notice" role="alert">${error.message}</p>
<p>Nothing was connected. A Group is selected on its own instance, with <code>svc connect invite</code> or <code>svc connect accept</code>, or in its Workbench.</p>
<p><a href="/connect">Show my connections</a></p>`;
  return { status: error.status, page: page("This selection can't be used", browser, body) };
}

function sourceOf({ source_title: title, source_name: name }: GroupInvitationsTable): Selected {
  return { title, name };
}

/** A connection as one of its members sees it. */
function endsOf(
  { member }: MemberVisit,
  connection: GroupConnectionsTable,
  people: People,
): { own: Selected; other: Selected; person: Person | undefined } {
  const source = { title: connection.source_title, name: connection.source_name };
  const target = { title: connection.target_title, name: connection.target_name };
  return connection.source_member === member.id
    ? { own: source, other: target, person: people.get(connection.target_member) }
    : { own: target, other: source, person: people.get(connection.source_member) };
}

function groupName({ title, name }: Selected): Html {
  const shown = shownName(title).trim();
  return html`<strong><bdi>${shown === "" ? "(Group without a title)" : shown}</bdi></strong> on <bdi>${shownName(name)}</bdi>`;
}

function shownPerson(person: Person | undefined): Html {
  if (person === undefined) return html`a member who left`;
  return html`<strong><bdi>${shownName(person.name)}</bdi></strong> <span class="quiet">(${person.proof}; member id <code class="id">${person.id}</code>)</span>`;
}

/** What the other side will be able to do, and what not. */
function powers(own: Selected): Html {
  return html`<div class="powers"><p>Once connected, the other member and the agents of their Group</p>
<ul><li><strong>can</strong> see the title of ${groupName(own)} and the names of its agents,</li>
<li><strong>can</strong> send its agents and you messages with files, ask for replies, and withdraw such a request,</li>
<li><strong>can't</strong> read its history or your files, start or stop anything, use a terminal, or sign in anywhere,</li>
<li><strong>can't</strong> see your other Groups and instances.</li></ul>
<p>Your agents read these messages as coming from outside, and may act on them. You get the same towards their Group. It lasts until one of you ends it, which takes effect within two minutes.</p></div>`;
}

function until(at: number, now: number): Html {
  const minutes = Math.max(1, Math.round((at - now) / 60_000));
  const left = minutes < 90 ? `${minutes} more minutes` : `${Math.round(minutes / 60)} more hours`;
  return html`for ${left} (until ${moment(at)})`;
}

const BY_OPERATOR = "ended by the operator of this service, after a backup was restored";
const INVITATION_WORDS: Record<string, string> = {
  pending: "expired",
  cancelled: "cancelled",
  rejected: "rejected",
  operator: BY_OPERATOR,
  gone: "the inviting Group or its instance is gone",
};

function history(
  visit: MemberVisit,
  closed: Awaited<ReturnType<Connections["of"]>>["closed"],
  people: People,
): Html {
  const name = (id: string) => shownName(people.get(id)?.name ?? "a member who left");
  const rows = [
    ...closed.connections.map((one) => {
      const { own, other, person } = endsOf(visit, one, people);
      const how =
        one.ended_by !== null
          ? `ended by ${one.ended_by === visit.member.id ? "you" : name(one.ended_by)}`
          : one.end_reason === "group_gone"
            ? "ended because a Group is gone or was replaced"
            : one.end_reason === "operator"
              ? BY_OPERATOR
              : "ended because an instance was retired";
      return {
        at: one.closed_at!,
        text: html`${groupName(own)} with ${groupName(other)} of <bdi>${name(person?.id ?? "")}</bdi>: ${how}`,
      };
    }),
    ...closed.invitations.map((one) => ({
      at: one.closed_at ?? one.expires_at,
      text: html`Invitation by <bdi>${name(one.source_member)}</bdi> to <bdi>${name(one.recipient_member)}</bdi>, ${groupName(sourceOf(one))}: ${INVITATION_WORDS[one.state] ?? one.state}`,
    })),
  ].sort((one, other) => other.at - one.at);
  if (rows.length === 0) return html``;
  return html`<details><summary>What was before (${rows.length}, kept for 30 days)</summary>
<table><thead><tr><th>When</th><th>What</th></tr></thead><tbody>
${rows.map(({ at, text }) => html`<tr><td>${moment(at)}</td><td>${text}</td></tr>`)}
</tbody></table></details>`;
}
