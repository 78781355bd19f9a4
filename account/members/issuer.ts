/**
 * Sign-in through another issuer (OpenID Connect, authorization code with PKCE). The state belongs
 * to one browser and one purpose, and is answered once. Nonce and PKCE verifier follow from it by
 * the service's key, so that nothing has to be kept until the answer comes, by whichever process.
 */
import { createHash } from "node:crypto";
import * as oidc from "openid-client";
import type { Clock } from "../../platform/clock.ts";
import { errorFields, type Log } from "../../platform/log.ts";
import type { Random } from "../../platform/random.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { ServiceKey } from "../secrets.ts";
import type { IssuerSettings } from "../settings.ts";
import type { Store } from "../store/store.ts";
import { useUp } from "./challenges.ts";
import type { Browser } from "./sessions.ts";

/** Where the issuer sends the browser back to. */
export const ISSUER_ANSWER_PATH = "/login/issuer/answer";

const STATE_MS = LIMITS.account.challengeSeconds * 1000;
const METADATA_MS = 3600 * 1000;

/** What a sign-in at the issuer is for: a session that leads to a page, or a link to a member. */
export type IssuerPurpose = { kind: "sign_in"; next: string } | { kind: "link" };

/** Whom the issuer means. Only issuer and subject together identify somebody. */
export interface IssuerIdentity {
  purpose: IssuerPurpose;
  issuer: string;
  subject: string;
  /** What the issuer calls the person: for showing only. */
  names: readonly unknown[];
}

export interface IssuerDependencies {
  settings: IssuerSettings;
  store: Store;
  clock: Clock;
  random: Random;
  log: Log;
  key: ServiceKey;
  origin: string;
}

export class Issuer {
  /** Its host, as the pages name it. */
  readonly host: string;
  /** Whether somebody whom it knows becomes a member at the first sign-in. */
  readonly isOpen: boolean;
  readonly #deps: IssuerDependencies;
  #found: { configuration: Promise<oidc.Configuration>; at: number } | null = null;

  constructor(deps: IssuerDependencies) {
    this.#deps = deps;
    this.host = new URL(deps.settings.url).host;
    this.isOpen = deps.settings.isOpen;
  }

  /** The address of the issuer where the browser goes. Throws `overloaded` if it isn't reached. */
  async begin(browser: Browser, purpose: IssuerPurpose): Promise<string> {
    const { key, random, clock } = this.#deps;
    const text = textOf(purpose);
    const challenge = key.challenge(random, `issuer ${text}`, browser.id, clock.now() + STATE_MS);
    const state = `${challenge}.${Buffer.from(text).toString("base64url")}`;
    const url = oidc.buildAuthorizationUrl(await this.#configuration(), {
      redirect_uri: this.#redirectUri,
      scope: "openid profile",
      state,
      nonce: this.#nonceOf(state),
      code_challenge: createHash("sha256").update(this.#verifierOf(state)).digest("base64url"),
      code_challenge_method: "S256",
      // A sign-in here counts as fresh, so it has to be fresh there.
      max_age: String(LIMITS.account.freshSeconds),
    });
    return url.href;
  }

  /**
   * Checks the issuer's answer, for which this browser was sent there. Throws `permission_denied`,
   * or `overloaded` if the issuer isn't reached.
   */
  async finish(purpose: IssuerPurpose, fields: Readonly<Record<string, string>>): Promise<IssuerIdentity> {
    const state = fields["state"] ?? "";
    const configuration = await this.#configuration();
    const answer = new URL(this.#redirectUri);
    for (const [name, value] of Object.entries(fields)) answer.searchParams.set(name, value);
    const checks = {
      expectedState: state,
      expectedNonce: this.#nonceOf(state),
      pkceCodeVerifier: this.#verifierOf(state),
      maxAge: LIMITS.account.freshSeconds,
      idTokenExpected: true,
    };
    try {
      const tokens = await oidc.authorizationCodeGrant(configuration, answer, checks);
      const { iss, sub, ...claims } = tokens.claims()!;
      const more = await oidc
        .fetchUserInfo(configuration, tokens.access_token, sub)
        // The name is optional.
        .catch(() => null);
      const names = [claims["name"], more?.name, claims["preferred_username"], more?.preferred_username];
      return { purpose, issuer: iss, subject: sub, names };
    } catch (error) {
      const said = saidBy(error);
      this.#deps.log.warn("identity provider refused", { ...errorFields(error), said });
      if (isUnreachable(error)) throw unreachable(this.host, error);
      throw said === "access_denied" ? cancelled(this.host, error) : denied(error);
    }
  }

  get #redirectUri(): string {
    return `${this.#deps.origin}${ISSUER_ANSWER_PATH}`;
  }

  /**
   * Uses up the state with which this browser was sent to the issuer, and answers what for. Throws
   * `permission_denied`.
   */
  async useState(browser: Browser, fields: Readonly<Record<string, string>>): Promise<IssuerPurpose> {
    const { key, clock, store } = this.#deps;
    const state = fields["state"] ?? "";
    const [challenge = "", encoded = "", ...rest] = state.split(".");
    const text = Buffer.from(encoded, "base64url").toString("utf8");
    const expires = key.challengeExpiry(challenge, `issuer ${text}`, browser.id);
    if (rest.length > 0 || expires === null || expires <= clock.now()) throw denied();
    if (!(await useUp(store.db, challenge, expires))) throw denied();
    return purposeOf(text);
  }

  #nonceOf(state: string): string {
    return this.#deps.key.issuerSecret("nonce", state);
  }

  #verifierOf(state: string): string {
    return this.#deps.key.issuerSecret("verifier", state);
  }

  /** The issuer's own description, asked for again after a while or a failure. */
  async #configuration(): Promise<oidc.Configuration> {
    const now = this.#deps.clock.now();
    if (this.#found === null || Math.abs(now - this.#found.at) > METADATA_MS)
      this.#found = { configuration: this.#discover(), at: now };
    const found = this.#found;
    try {
      return await found.configuration;
    } catch (error) {
      if (this.#found === found) this.#found = null;
      this.#deps.log.warn("identity provider unusable", errorFields(error));
      throw unreachable(this.host, error);
    }
  }

  async #discover(): Promise<oidc.Configuration> {
    const { url, clientId, clientSecret } = this.#deps.settings;
    const server = new URL(url);
    const authentication = clientSecret === null ? oidc.None() : oidc.ClientSecretBasic(clientSecret);
    const configuration = await oidc.discovery(server, clientId, undefined, authentication, {
      timeout: LIMITS.account.issuerSeconds,
      // The settings allow HTTP only on this machine.
      ...(server.protocol === "http:" && { execute: [oidc.allowInsecureRequests] }),
    });
    // The signature of an ID token counts, not only the connection on which it came.
    oidc.enableNonRepudiationChecks(configuration);
    return configuration;
  }
}

function textOf(purpose: IssuerPurpose): string {
  return purpose.kind === "link" ? "link" : `sign in ${purpose.next}`;
}

function purposeOf(text: string): IssuerPurpose {
  return text === "link" ? { kind: "link" } : { kind: "sign_in", next: text.slice("sign in ".length) };
}

/** The error that the issuer gave (RFC 6749), if it gave one. */
function saidBy(error: unknown): string | undefined {
  const { error: said } = error as { error?: unknown };
  return typeof said === "string" && /^[a-z_]{1,64}$/u.test(said) ? said : undefined;
}

/** Whether no answer came, rather than a wrong one. */
function isUnreachable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause.message === "fetch failed" || (cause as { code?: unknown }).code === "OAUTH_TIMEOUT")
      return true;
  return false;
}

function unreachable(host: string, cause: unknown): Refusal {
  return new Refusal("overloaded", {
    specifics: `The identity provider ${host} can't be reached or used right now.`,
    remedy: "Try again in a moment, or sign in with a passkey.",
    cause,
  });
}

function cancelled(host: string, cause: unknown): Refusal {
  return new Refusal("permission_denied", {
    specifics: `You weren't signed in at ${host}: it was cancelled there, or you may not use this service.`,
    remedy: "Sign in again from the sign-in page.",
    cause,
  });
}

function denied(cause?: unknown): Refusal {
  return new Refusal("permission_denied", {
    specifics: "The answer of the identity provider wasn't accepted.",
    remedy: "Sign in again from the sign-in page.",
    cause,
  });
}
