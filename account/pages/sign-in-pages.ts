/** Signing in and out, and coming in as a new member. */

import type { Clock } from "../../platform/clock.ts";
import { Refusal } from "../../shared/errors.ts";
import { shownName } from "../../shared/foreign-text.ts";
import { LIMITS } from "../../shared/limits.ts";
import { displayNameOf } from "../devices/devices.ts";
import { addressKey } from "../http.ts";
import type { Limits } from "../limits.ts";
import { isInvitation, useInvitation } from "../members/invitations.ts";
import type { Issuer } from "../members/issuer.ts";
import type { Passkeys } from "../members/passkeys.ts";
import type { RecoveryCodes } from "../members/recovery.ts";
import type { Browser } from "../members/sessions.ts";
import { type DevelopmentDependencies, signInAs } from "./development.ts";
import { html } from "./html.ts";
import { form, hidden, page, passkeyForm } from "./page.ts";
import { recoveryCodesPage } from "./security-pages.ts";
import { nextPath, type Shown, type Visit } from "./site.ts";

const SIGN_IN = "sign in";
const JOIN = "join";

export interface SignInDependencies extends DevelopmentDependencies {
  clock: Clock;
  limits: Limits;
  passkeys: Passkeys;
  recovery: RecoveryCodes;
  /** Whether any name may sign in. */
  developmentLogin: boolean;
  issuer: Issuer | null;
}

export class SignInPages {
  readonly #deps: SignInDependencies;

  constructor(deps: SignInDependencies) {
    this.#deps = deps;
  }

  async show({ browser, fields }: Visit): Promise<Shown> {
    const next = nextPath(fields["next"]);
    if (browser.session !== null && fields["again"] === undefined) return { goTo: next };
    const { issuer, passkeys } = this.#deps;
    const options = await passkeys.request(browser, SIGN_IN, null);
    const body = html`${fields["again"] !== undefined && html`<p>Sign in once more, so that it is surely you.</p>`}
${passkeyForm(browser, "/login/passkey", { kind: "use", options }, html`${hidden("next", next)}<button class="main">Sign in with a passkey</button>`)}
${issuer !== null && html`<p><a class="button" href="/login/issuer?next=${encodeURIComponent(next)}">Sign in with ${issuer.host}</a></p>`}
<h2>Lost your passkey?</h2>
${form(
  browser,
  "/login/recovery",
  html`<label for="recovery">Recovery code</label><input id="recovery" name="code" autocomplete="off" autocapitalize="none" spellcheck="false" required>
<div class="actions"><button>Sign in with a recovery code</button></div>`,
)}
${
  this.#deps.developmentLogin &&
  html`<h2>Development login</h2>
<p class="quiet">Anybody on this machine can sign in under any name.</p>
${form(
  browser,
  "/login/development",
  html`${hidden("next", next)}<label for="name">Name</label><input id="name" name="name" autocomplete="username" maxlength="60" required>
<div class="actions"><button>Sign in</button></div>`,
)}`
}`;
    return { page: page("Sign in", browser, body) };
  }

  async withPasskey(visit: Visit): Promise<Shown> {
    const { store, sessions, audit, passkeys } = this.#deps;
    const { browser, fields, response, address } = visit;
    await this.#count(address);
    const member = await passkeys.check(browser, SIGN_IN, fields["passkey"] ?? "", null);
    await store.transaction(async (db) => {
      await audit.record(db, { event: "signed_in_passkey", member, address });
      await sessions.signIn(db, response, browser, member);
    });
    return { goTo: nextPath(fields["next"]) };
  }

  async withRecoveryCode({ browser, fields, response, address }: Visit): Promise<Shown> {
    const { store, limits, sessions, audit, recovery } = this.#deps;
    await limits.count("recovery", addressKey(address));
    await store.transaction(async (db) => {
      const member = await recovery.use(db, fields["code"] ?? "");
      if (member === null) {
        throw new Refusal("permission_denied", {
          specifics: "The recovery code isn't valid, or was used before.",
          remedy: "Try another one, or ask the administrator.",
        });
      }
      await audit.record(db, { event: "signed_in_recovery", member, address });
      // What the member has lost may be signed in.
      await sessions.endOthers(db, member, browser);
      await sessions.signIn(db, response, browser, member);
    });
    return { goTo: "/security" };
  }

  async development(visit: Visit): Promise<Shown> {
    await this.#count(visit.address);
    await signInAs(this.#deps, visit, visit.fields["name"] ?? "");
    return { goTo: nextPath(visit.fields["next"]) };
  }

  async signOut({ browser, response }: Visit): Promise<Shown> {
    await this.#deps.sessions.signOut(response, browser);
    return { goTo: "/login" };
  }

  /** For whom an invitation was made. The script takes its secret from behind the hash sign. */
  askJoin({ browser }: Visit): Shown {
    return { page: joinPage(browser, { name: "", invitation: "" }, null) };
  }

  /** Asks for the passkey. One that is made for nothing stays with the authenticator. */
  async askPasskey({ browser, fields, address }: Visit): Promise<Shown> {
    const { store, clock, passkeys } = this.#deps;
    await this.#count(address);
    const typed = { name: fields["name"] ?? "", invitation: fields["invitation"] ?? "" };
    let name: string;
    try {
      name = displayNameOf(typed.name);
      if (!(await isInvitation(store.db, typed.invitation, clock.now()))) throw notInvited();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { status: error.status, page: joinPage(browser, typed, error.message) };
    }
    const options = await passkeys.creation(browser, JOIN, name, null);
    const body = html`<p>Welcome, <bdi>${shownName(name)}</bdi>. You sign in with a passkey from now on: this device, your phone or a security key keeps it.</p>
${passkeyForm(
  browser,
  "/join/passkey",
  { kind: "create", options },
  html`${hidden("name", name)}${hidden("invitation", typed.invitation)}<div class="actions"><button class="main">Make a passkey</button></div>`,
)}`;
    return { page: page("Make a passkey", browser, body) };
  }

  async join({ browser, fields, response, address }: Visit): Promise<Shown> {
    const { store, clock, members, sessions, passkeys, recovery } = this.#deps;
    await this.#count(address);
    const name = displayNameOf(fields["name"] ?? "");
    const made = await passkeys.checkNew(browser, JOIN, fields["passkey"] ?? "");
    const codes = await store.transaction(async (db) => {
      const invited = await useInvitation(db, fields["invitation"] ?? "", clock.now());
      if (invited === null) throw notInvited();
      const member = await members.create(db, { name, isAdmin: invited.isAdmin, address });
      await passkeys.add(db, member, made);
      await sessions.signIn(db, response, browser, member);
      return recovery.replace(db, member);
    });
    return { page: recoveryCodesPage(codes) };
  }

  async #count(address: string): Promise<void> {
    await this.#deps.limits.count("signIns", addressKey(address));
  }
}

function notInvited(): Refusal {
  return new Refusal("permission_denied", {
    specifics: "The invitation isn't valid: it was used, or is too old.",
    remedy: "Ask for a new one.",
  });
}

function joinPage(
  browser: Browser,
  { name, invitation }: { name: string; invitation: string },
  problem: string | null,
): string {
  const body = html`<p>You were invited to this account service. What is your name?</p>
${problem !== null && html`<p class="notice" role="alert">${problem}</p>`}
${form(
  browser,
  "/join",
  html`<label for="name">Your name</label><input id="name" name="name" value="${name}" autocomplete="username" maxlength="${LIMITS.account.nameUnits}" required>
<label for="invitation">Invitation</label><input id="invitation" name="invitation" value="${invitation}" autocomplete="off" spellcheck="false" required>
<div class="actions"><button class="main">Continue</button></div>`,
)}`;
  return page("Join", browser, body);
}
