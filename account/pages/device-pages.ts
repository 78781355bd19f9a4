/** The pages by which a member lets a device in (RFC 8628, section 3.3). */
import type { Clock } from "../../platform/clock.ts";
import { Refusal } from "../../shared/errors.ts";
import { shownName } from "../../shared/foreign-text.ts";
import type { DeviceGrants, OpenGrant } from "../devices/grants.ts";
import { addressKey } from "../http.ts";
import type { Limits } from "../limits.ts";
import type { Passkeys } from "../members/passkeys.ts";
import { isFresh } from "../members/sessions.ts";
import type { Metrics } from "../metrics.ts";
import { shownUserCode, userCodeOf } from "../secrets.ts";
import { type Html, html } from "./html.ts";
import { ago, form, hidden, page, passkeyForm } from "./page.ts";
import { type MemberVisit, type Shown, signInAgainFor } from "./site.ts";

export interface DevicePageDependencies {
  clock: Clock;
  grants: DeviceGrants;
  limits: Limits;
  metrics: Metrics;
  passkeys: Passkeys;
  /** Whether an address is that of the one who asks, rather than of a proxy. */
  knowsAddresses: boolean;
}

const UNKNOWN =
  "This code isn't valid. It was mistyped, used, or is older than 15 minutes. Check it on the device, or start there again.";

export class DevicePages {
  readonly #deps: DevicePageDependencies;

  constructor(deps: DevicePageDependencies) {
    this.#deps = deps;
  }

  /** Asks for the code. The complete link fills it in, and nothing more. */
  enter(visit: MemberVisit): Shown {
    return this.#enter(visit, visit.fields["user_code"] ?? "", null);
  }

  /** Shows what the code would let in, and asks. */
  async confirm(visit: MemberVisit): Promise<Shown> {
    const typed = visit.fields["user_code"] ?? "";
    const found = await this.#find(visit, typed);
    if (found === null) return { ...this.#enter(visit, typed, UNKNOWN), status: 400 };
    return { page: await this.#question(visit, found.code, found.grant) };
  }

  /** Does what the member decided. */
  async decide(visit: MemberVisit): Promise<Shown> {
    const { metrics, grants } = this.#deps;
    const typed = visit.fields["user_code"] ?? "";
    const decision = visit.fields["decision"];
    if (decision !== "approved" && decision !== "denied") throw new Refusal("invalid_request");
    await this.#count(visit);
    const code = userCodeOf(typed);
    if (decision === "approved" && code !== null && !(await this.#isSure(visit, code)))
      return { goTo: signInAgainFor(`/device?user_code=${shownUserCode(code)}`) };
    const done =
      code !== null &&
      (await grants.decide(code, decision, { member: visit.member.id, address: visit.address }));
    if (!done) {
      metrics.userCode("unknown");
      return { ...this.#enter(visit, typed, UNKNOWN), status: 400 };
    }
    metrics.userCode(decision);
    const body =
      decision === "approved"
        ? html`<p>The device joins your account within a few seconds. You can close this page.</p>
<p><a href="/">Show my machines</a></p>`
        : html`<p>Nothing was let in. If you didn't start this yourself, someone wanted you to give them access: tell your administrator.</p>
<p><a href="/">Show my machines</a></p>`;
    return { page: page(decision === "approved" ? "Device approved" : "Device denied", visit.browser, body) };
  }

  /**
   * Whether it is the member who approves, and not somebody at the member's open browser: a passkey
   * for this very code, or a fresh sign-in for members without one. Throws for a wrong passkey.
   */
  async #isSure({ browser, member, fields }: MemberVisit, code: string): Promise<boolean> {
    const { passkeys, clock } = this.#deps;
    if ((await passkeys.of(member.id)).length === 0) return isFresh(browser.session!, clock.now());
    await passkeys.check(browser, approvalOf(code), fields["passkey"] ?? "", member.id);
    return true;
  }

  async #find(visit: MemberVisit, typed: string): Promise<{ code: string; grant: OpenGrant } | null> {
    await this.#count(visit);
    const code = userCodeOf(typed);
    const grant = code === null ? null : await this.#deps.grants.open(code);
    if (code === null || grant === null) {
      this.#deps.metrics.userCode("unknown");
      return null;
    }
    return { code, grant };
  }

  /** Right or wrong, every try counts. A right one gives nothing back. */
  async #count({ member, address }: MemberVisit): Promise<void> {
    await this.#deps.limits.count("codesOfMember", member.id);
    await this.#deps.limits.count("codesOfAddress", addressKey(address));
  }

  #enter({ browser }: MemberVisit, typed: string, problem: string | null): { page: string } {
    const body = html`<p>Enter the code that your device shows.</p>
${problem !== null && html`<p class="notice" role="alert">${problem}</p>`}
${form(
  browser,
  "/device",
  html`<label for="code">Code</label>
<input id="code" name="user_code" class="code" value="${typed.slice(0, 16)}" placeholder="XXXX-XXXX" autocomplete="off" autocapitalize="characters" spellcheck="false" required>
<div class="actions"><button class="main">Continue</button></div>`,
)}`;
    return { page: page("Let a device in", browser, body) };
  }

  async #question(visit: MemberVisit, code: string, grant: OpenGrant): Promise<string> {
    const { browser, member, address } = visit;
    const { hostname, version } = grant.claims;
    const isSameAddress = this.#deps.knowsAddresses && grant.address === address;
    const body = html`<p>A device wants to join the account of <strong><bdi>${shownName(member.name)}</bdi></strong>.</p>
<p class="code">${shownUserCode(code)}</p>
<dl>
<dt>Calls itself</dt><dd><bdi>${hostname === null ? "not stated" : shownName(hostname)}</bdi>${version !== null && html` <span class="quiet">(version <bdi>${shownName(version)}</bdi>)</span>`}</dd>
<dt>Asked from</dt><dd>${grant.address}${isSameAddress && html` <span class="quiet">(the same address as yours)</span>`}</dd>
<dt>Asked</dt><dd>${ago(grant.createdAt, this.#deps.clock.now())}</dd>
</dl>
<div class="notice">
<p><strong>Did you just start this yourself?</strong></p>
<p>If you approve, this device can find all your instances, and its agents can write to yours and send them files as if they were you. It can't sign in here.</p>
<p>Deny it if someone else sent you this code or this link, whatever the reason they gave.</p>
</div>
<div class="actions">
${await this.#approval(visit, code)}
${form(browser, "/device/decide", html`${answer(code, "denied")}<button class="danger">Deny</button>`)}
</div>`;
    return page("Let this device in?", browser, body);
  }

  async #approval({ browser, member }: MemberVisit, code: string): Promise<Html> {
    const { passkeys } = this.#deps;
    const body = html`${answer(code, "approved")}<button class="main">Yes, I started it: approve</button>`;
    if ((await passkeys.of(member.id)).length === 0) return form(browser, "/device/decide", body);
    const options = await passkeys.request(browser, approvalOf(code), member.id);
    return passkeyForm(browser, "/device/decide", { kind: "use", options }, body);
  }
}

/** What a passkey is used for, so that the answer serves for no other code. */
function approvalOf(code: string): string {
  return `approve ${code}`;
}

function answer(code: string, decision: string): Html {
  return html`${hidden("user_code", shownUserCode(code))}${hidden("decision", decision)}`;
}
