/** Signing in and out. */

import { addressKey } from "../http.ts";
import type { Limits } from "../limits.ts";
import type { DevelopmentDependencies } from "../members/development.ts";
import { signInAs } from "../members/development.ts";
import { html } from "./html.ts";
import { form, hidden, page } from "./page.ts";
import { nextPath, type Shown, type Visit } from "./site.ts";

export interface SignInDependencies extends DevelopmentDependencies {
  limits: Limits;
  /** Whether any name may sign in. */
  developmentLogin: boolean;
}

export class SignInPages {
  readonly #deps: SignInDependencies;

  constructor(deps: SignInDependencies) {
    this.#deps = deps;
  }

  show({ browser, fields }: Visit): Shown {
    const next = nextPath(fields["next"]);
    if (browser.session !== null) return { goTo: next };
    const body = html`${
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

  async development(visit: Visit): Promise<Shown> {
    await this.#deps.limits.count("signIns", addressKey(visit.address));
    await signInAs(this.#deps, visit, visit.fields["name"] ?? "");
    return { goTo: nextPath(visit.fields["next"]) };
  }

  async signOut({ browser, response }: Visit): Promise<Shown> {
    await this.#deps.sessions.signOut(response, browser);
    return { goTo: "/login" };
  }
}
