/**
 * Sessions of members in browsers: a cookie with a random token, of which the store has the digest.
 */
import type { Request, Response } from "express";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { LIMITS } from "../../shared/limits.ts";
import { accountCookieName } from "../../shared/names.ts";
import { digestOf, newToken, type ServiceKey } from "../secrets.ts";
import type { Queries, Store } from "../store/store.ts";

const SESSION_MS = LIMITS.account.sessionDays * 24 * 3600 * 1000;
const TOKEN = /^[A-Za-z0-9_-]{43}$/u;

export interface Member {
  id: string;
  name: string;
  isAdmin: boolean;
}

export interface Session {
  member: Member;
  /** When the member signed in. */
  since: number;
}

/** A browser that asks for a page: its cookie, and who is signed in. */
export interface Browser {
  /** Digest of its cookie. Challenges and CSRF tokens belong to it. */
  id: string;
  csrf: string;
  session: Session | null;
}

/** Whether the member signed in a short while ago. A clock that was set back prolongs nothing. */
export function isFresh(session: Session, now: number): boolean {
  return Math.abs(now - session.since) < LIMITS.account.freshSeconds * 1000;
}

export interface SessionDependencies {
  store: Store;
  clock: Clock;
  random: Random;
  key: ServiceKey;
  origin: string;
}

export class Sessions {
  readonly #deps: SessionDependencies;
  readonly #cookie: string;
  readonly #isSecure: boolean;

  constructor(deps: SessionDependencies) {
    const url = new URL(deps.origin);
    this.#deps = deps;
    this.#isSecure = url.protocol === "https:";
    this.#cookie = accountCookieName(this.#isSecure, Number(url.port || (this.#isSecure ? 443 : 80)));
  }

  /** The browser of a request. One without a cookie gets one, for its forms. */
  async browser(request: Request, response: Response): Promise<Browser> {
    const token = this.#tokenOf(request);
    if (token === null) return this.#browserWith(this.#give(response), null);
    const row = await this.#deps.store.db
      .selectFrom("sessions")
      .innerJoin("members", "members.id", "sessions.member_id")
      .select(["members.id", "members.name", "members.is_admin", "sessions.created_at"])
      .where("sessions.digest", "=", digestOf(token))
      .where("sessions.expires_at", ">", this.#deps.clock.now())
      .where("members.disabled_at", "is", null)
      .executeTakeFirst();
    if (row === undefined) return this.#browserWith(token, null);
    const member = { id: row.id, name: row.name, isAdmin: row.is_admin === 1 };
    return this.#browserWith(token, { member, since: row.created_at });
  }

  /**
   * Signs a member in, in the transaction of what proved it. The browser gets a new token, so that
   * a token which somebody else put into it opens nothing.
   */
  async signIn(db: Queries, response: Response, before: Browser, memberId: string): Promise<void> {
    const now = this.#deps.clock.now();
    await db.deleteFrom("sessions").where("digest", "=", before.id).execute();
    await db
      .insertInto("sessions")
      .values({
        digest: digestOf(this.#give(response)),
        member_id: memberId,
        created_at: now,
        expires_at: now + SESSION_MS,
      })
      .execute();
  }

  /** How many other browsers the member is signed in with. */
  async others(db: Queries, memberId: string, browser: Browser): Promise<number> {
    const { count } = await db
      .selectFrom("sessions")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("member_id", "=", memberId)
      .where("digest", "!=", browser.id)
      .where("expires_at", ">", this.#deps.clock.now())
      .executeTakeFirstOrThrow();
    return count;
  }

  /** Signs the member out in every other browser. */
  async endOthers(db: Queries, memberId: string, browser: Browser): Promise<void> {
    await db
      .deleteFrom("sessions")
      .where("member_id", "=", memberId)
      .where("digest", "!=", browser.id)
      .execute();
  }

  async signOut(response: Response, browser: Browser): Promise<void> {
    await this.#deps.store.db.deleteFrom("sessions").where("digest", "=", browser.id).execute();
    this.#give(response);
  }

  #browserWith(token: string, session: Session | null): Browser {
    return { id: digestOf(token), csrf: this.#deps.key.csrfToken(token), session };
  }

  #tokenOf(request: Request): string | null {
    const found = (request.headers.cookie ?? "")
      .split(";")
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(`${this.#cookie}=`));
    const token = found[0]?.slice(this.#cookie.length + 1) ?? "";
    return found.length === 1 && TOKEN.test(token) ? token : null;
  }

  #give(response: Response): string {
    const token = newToken(this.#deps.random);
    response.cookie(this.#cookie, token, {
      httpOnly: true,
      secure: this.#isSecure,
      // Not strict: a link from a terminal or a mail arrives signed in. Forms have their own proof.
      sameSite: "lax",
      path: "/",
      maxAge: SESSION_MS,
    });
    return token;
  }
}
