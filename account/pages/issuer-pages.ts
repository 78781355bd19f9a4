/** Signing in through the identity provider, and linking it to a member. */
import type { Clock } from "../../platform/clock.ts";
import { Refusal } from "../../shared/errors.ts";
import type { Audit } from "../audit.ts";
import { displayNameOf } from "../devices/devices.ts";
import { addressKey } from "../http.ts";
import type { Limits } from "../limits.ts";
import type { Issuer, IssuerIdentity } from "../members/issuer.ts";
import type { Members } from "../members/members.ts";
import { isFresh, type Sessions } from "../members/sessions.ts";
import { isDuplicate, type Store } from "../store/store.ts";
import { html } from "./html.ts";
import { page } from "./page.ts";
import { type MemberVisit, nextPath, type Shown, signInAgainFor, type Visit } from "./site.ts";

/** For a person whose identity provider gives no name that can be shown. */
const NAMELESS = "Member";
const AGAIN: Shown = { goTo: signInAgainFor("/security") };

export interface IssuerPageDependencies {
  issuer: Issuer;
  store: Store;
  clock: Clock;
  limits: Limits;
  members: Members;
  sessions: Sessions;
  audit: Audit;
}

export class IssuerPages {
  readonly #deps: IssuerPageDependencies;

  constructor(deps: IssuerPageDependencies) {
    this.#deps = deps;
  }

  /** Leads to the identity provider. Any page can send a browser here, so it counts for nothing. */
  async signIn({ browser, fields }: Visit): Promise<Shown> {
    const next = nextPath(fields["next"]);
    return { goTo: await this.#deps.issuer.begin(browser, { kind: "sign_in", next }) };
  }

  /**
   * The same for a member who wants to sign in that way from now on. A form can't lead to another
   * host, so the page has a link.
   */
  async link({ browser }: MemberVisit): Promise<Shown> {
    const { issuer, clock } = this.#deps;
    if (!isFresh(browser.session!, clock.now())) return AGAIN;
    const url = await issuer.begin(browser, { kind: "link" });
    const body = html`<p>Sign in at ${issuer.host} as the person who may sign in here as you from now on.</p>
<div class="actions"><a class="button main" href="${url}">Continue to ${issuer.host}</a></div>
<p><a href="/security">Back</a></p>`;
    return { page: page("Link your identity provider", browser, body) };
  }

  /** Ends the link, unless nothing else would let the member in. */
  async unlink({ browser, member, address }: MemberVisit): Promise<Shown> {
    const { store, members, audit, clock } = this.#deps;
    if (!isFresh(browser.session!, clock.now())) return AGAIN;
    await store.transaction(async (db) => {
      if (!(await members.hasPasskey(db, member.id))) {
        throw new Refusal("conflict", {
          specifics: "You have no passkey, so you couldn't sign in any more.",
          remedy: "Add a passkey first.",
        });
      }
      if ((await members.removeIdentities(db, member.id)) > 0)
        await audit.record(db, { event: "issuer_unlinked", member: member.id, address });
    });
    return { goTo: "/security" };
  }

  /** What the identity provider answers, as the browser brings it. */
  async answer(visit: Visit): Promise<Shown> {
    const { issuer, limits } = this.#deps;
    const purpose = await issuer.useState(visit.browser, visit.fields);
    await limits.count("signIns", addressKey(visit.address));
    const identity = await issuer.finish(purpose, visit.fields);
    if (purpose.kind === "link") return this.#linked(visit, identity);
    try {
      await this.#signedIn(visit, identity);
    } catch (error) {
      // Another sign-in of the same new person was a moment faster.
      if (!isDuplicate(error)) throw error;
      await this.#signedIn(visit, identity);
    }
    return { goTo: purpose.next };
  }

  async #signedIn({ browser, response, address }: Visit, identity: IssuerIdentity): Promise<void> {
    const { store, members, sessions, audit, issuer } = this.#deps;
    await store.transaction(async (db) => {
      const known = await members.signingIn(db, identity.issuer, identity.subject);
      if (known === null && !issuer.isOpen) {
        throw new Refusal("permission_denied", {
          specifics: "No member of this service signs in with this identity.",
          remedy:
            "Sign in with your passkey and link the identity provider there, or ask the administrator for an invitation.",
        });
      }
      const id = known ?? (await members.create(db, { name: nameOf(identity), isAdmin: false, address }));
      if (known === null) await members.addIdentity(db, identity.issuer, identity.subject, id);
      await audit.record(db, { event: "signed_in_issuer", member: id, address });
      await sessions.signIn(db, response, browser, id);
    });
  }

  async #linked({ browser, address }: Visit, { issuer, subject }: IssuerIdentity): Promise<Shown> {
    const { store, members, audit, clock } = this.#deps;
    const { session } = browser;
    if (session === null || !isFresh(session, clock.now())) return AGAIN;
    const { id } = session.member;
    try {
      await store.transaction(async (db) => {
        if ((await members.byIdentity(db, issuer, subject))?.id === id) return;
        await members.addIdentity(db, issuer, subject, id);
        await audit.record(db, { event: "issuer_linked", member: id, address });
      });
    } catch (error) {
      if (!isDuplicate(error)) throw error;
      throw new Refusal("already_exists", {
        specifics: "Another member signs in with this identity.",
        remedy: "Sign in at the identity provider as someone else.",
        cause: error,
      });
    }
    return { goTo: "/security" };
  }
}

/** The first of the issuer's names that can be shown. */
function nameOf({ names }: IssuerIdentity): string {
  for (const name of names) {
    if (typeof name !== "string") continue;
    try {
      return displayNameOf(name);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }
  return NAMELESS;
}
