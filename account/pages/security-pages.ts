/** A member's own passkeys and recovery codes, and the administrator's invitations. */
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { Refusal } from "../../shared/errors.ts";
import type { Audit } from "../audit.ts";
import { invitationLink, invite } from "../members/invitations.ts";
import type { Issuer } from "../members/issuer.ts";
import type { Members } from "../members/members.ts";
import type { Passkeys } from "../members/passkeys.ts";
import type { RecoveryCodes } from "../members/recovery.ts";
import { isFresh, type Sessions } from "../members/sessions.ts";
import type { Store } from "../store/store.ts";
import { html } from "./html.ts";
import { ago, form, hidden, page, passkeyForm } from "./page.ts";
import { type MemberVisit, type Shown, signInAgainFor } from "./site.ts";

const ADD = "add";
const AGAIN: Shown = { goTo: signInAgainFor("/security") };

export interface SecurityDependencies {
  store: Store;
  clock: Clock;
  random: Random;
  origin: string;
  audit: Audit;
  passkeys: Passkeys;
  recovery: RecoveryCodes;
  members: Members;
  sessions: Sessions;
  issuer: Issuer | null;
}

/** Recovery codes, shown this once. */
export function recoveryCodesPage(codes: readonly string[]): string {
  const body = html`<p>Each of these codes lets you in once if your passkeys are lost. They are shown only now: print them, or keep them where you keep your passwords.</p>
<ul class="codes">${codes.map((code) => html`<li>${code}</li>`)}</ul>
<p><a href="/">I have kept them</a></p>`;
  return page("Your recovery codes", null, body);
}

export class SecurityPages {
  readonly #deps: SecurityDependencies;

  constructor(deps: SecurityDependencies) {
    this.#deps = deps;
  }

  async show({ browser, member }: MemberVisit): Promise<Shown> {
    const { passkeys, recovery, store, clock, members, sessions, issuer } = this.#deps;
    if (!isFresh(browser.session!, clock.now())) return AGAIN;
    const known = await passkeys.of(member.id);
    const left = await recovery.left(store.db, member.id);
    const options = await passkeys.creation(browser, ADD, member.name, member.id);
    const others = await sessions.others(store.db, member.id, browser);
    const isLinked = (await members.identities(store.db, member.id)) > 0;
    const now = clock.now();
    const body = html`<h2>Passkeys</h2>
${
  known.length === 0
    ? html`<p class="quiet">None yet.</p>`
    : html`<ul class="cards">${known.map(
        (row, index) => html`<li class="card"><h3>Passkey ${index + 1}</h3>
<p class="quiet">Made ${ago(row.created_at, now)}${row.used_at !== null && html`, used ${ago(row.used_at, now)}`}</p>
${known.length > 1 && form(browser, "/security/passkeys/remove", html`${hidden("id", row.credential_id)}<button class="danger">Remove<span class="unseen"> passkey ${index + 1}</span></button>`, "inline")}</li>`,
      )}</ul>`
}
${passkeyForm(browser, "/security/passkeys", { kind: "create", options }, html`<div class="actions"><button>Add a passkey</button></div>`)}
${
  issuer !== null &&
  html`<h2>Identity provider</h2>
${
  isLinked
    ? html`<p>You can sign in with ${issuer.host}.</p>${form(browser, "/security/issuer/remove", html`<button class="danger">Unlink ${issuer.host}</button>`)}`
    : html`<p>Link ${issuer.host} to sign in with it too.</p>${form(browser, "/security/issuer", html`<button>Link ${issuer.host}</button>`)}`
}`
}
<h2>Recovery codes</h2>
<p>${left} left. New codes replace the old ones.</p>
${form(browser, "/security/recovery", html`<button>Make new recovery codes</button>`)}
<h2>Other browsers</h2>
${
  others === 0
    ? html`<p class="quiet">You are signed in only here.</p>`
    : html`<p>You are also signed in with ${others === 1 ? "another browser" : `${others} other browsers`}. Your machines stay in your account when you sign out there.</p>
${form(browser, "/security/sessions/end", html`<button>Sign out everywhere else</button>`)}`
}
${
  member.isAdmin &&
  html`<h2>Invite someone</h2>
<p>A link lets one person in, within three days.</p>
${form(browser, "/security/invitations", html`<button>Make an invitation link</button>`)}`
}`;
    return { page: page("Security", browser, body) };
  }

  async addPasskey({ browser, member, fields, address }: MemberVisit): Promise<Shown> {
    const { passkeys, store, audit, clock } = this.#deps;
    if (!isFresh(browser.session!, clock.now())) return AGAIN;
    const made = await passkeys.checkNew(browser, ADD, fields["passkey"] ?? "");
    await store.transaction(async (db) => {
      await passkeys.add(db, member.id, made);
      await audit.record(db, { event: "passkey_added", member: member.id, address });
    });
    return { goTo: "/security" };
  }

  /**
   * Removes a passkey, but never the last one. Who has it may be signed in elsewhere, which ends.
   */
  async removePasskey({ browser, member, fields, address }: MemberVisit): Promise<Shown> {
    const { store, sessions, audit, clock } = this.#deps;
    if (!isFresh(browser.session!, clock.now())) return AGAIN;
    await store.transaction(async (db) => {
      const known = await db
        .selectFrom("passkeys")
        .select("credential_id")
        .where("member_id", "=", member.id)
        .$if(store.kind === "postgres", (query) => query.forUpdate())
        .execute();
      if (known.length < 2 || !known.some((row) => row.credential_id === fields["id"]))
        throw new Refusal("conflict");
      await db.deleteFrom("passkeys").where("credential_id", "=", fields["id"]!).execute();
      await sessions.endOthers(db, member.id, browser);
      await audit.record(db, { event: "passkey_removed", member: member.id, address });
    });
    return { goTo: "/security" };
  }

  async endSessions({ browser, member, address }: MemberVisit): Promise<Shown> {
    const { store, sessions, audit, clock } = this.#deps;
    if (!isFresh(browser.session!, clock.now())) return AGAIN;
    await store.transaction(async (db) => {
      await sessions.endOthers(db, member.id, browser);
      await audit.record(db, { event: "signed_out_elsewhere", member: member.id, address });
    });
    return { goTo: "/security" };
  }

  async newRecoveryCodes({ browser, member, address }: MemberVisit): Promise<Shown> {
    const { store, recovery, audit, clock } = this.#deps;
    if (!isFresh(browser.session!, clock.now())) return AGAIN;
    const codes = await store.transaction(async (db) => {
      await audit.record(db, { event: "recovery_codes_made", member: member.id, address });
      return recovery.replace(db, member.id);
    });
    return { page: recoveryCodesPage(codes) };
  }

  /** Only the administrator lets new members in. */
  async invite({ browser, member, address }: MemberVisit): Promise<Shown> {
    const { store, audit, clock, random, origin } = this.#deps;
    if (!member.isAdmin) throw new Refusal("permission_denied");
    if (!isFresh(browser.session!, clock.now())) return AGAIN;
    const token = await store.transaction(async (db) => {
      await audit.record(db, { event: "invitation_made", member: member.id, address });
      return invite(db, { clock, random, isAdmin: false, by: member.id });
    });
    const body = html`<p>Send this link to one person, over a channel that you trust. It works once, and is shown only now.</p>
<p class="card">${invitationLink(origin, token)}</p>
<p><a href="/security">Back</a></p>`;
    return { page: page("Invitation link", browser, body) };
  }
}
