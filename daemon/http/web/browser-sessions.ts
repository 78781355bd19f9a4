/**
 * Browser sessions. A cookie names a session, and the session an access token that must be valid at
 * every request. Only digests are on disk, so that sessions survive a restart and a stolen file
 * opens nothing. A login link's session has its own administrator token, which is given to no one.
 * It is listed, can be revoked, and ends with the session.
 */
import { createHash } from "node:crypto";
import * as z from "zod";
import type { Clock } from "../../../platform/clock.ts";
import { JsonDocument } from "../../../platform/documents.ts";
import type { Files } from "../../../platform/files.ts";
import { HomeProblem } from "../../../platform/problem.ts";
import type { Random } from "../../../platform/random.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { Sha256 } from "../../../shared/model.ts";
import type { AccessToken } from "../../../shared/operations/access.ts";

const Session = z.strictObject({
  digest: Sha256,
  token_id: z.string(),
  /** The token was made for this session and ends with it. */
  owns_token: z.boolean(),
  /** Milliseconds since the epoch. */
  expires_at: z.int(),
});
type Session = z.infer<typeof Session>;
const Document = z.strictObject({ v: z.literal(1), sessions: z.array(Session) });

/** What sessions need of the access tokens. */
export interface SessionTokens {
  find(tokenId: string): AccessToken | null;
  /** As `find`; the token counts as used. */
  use(tokenId: string): AccessToken | null;
  create(token: {
    name: string;
    kind: "administrator";
    groups: string[];
    session: true;
  }): Promise<{ id: string }>;
  revoke(tokenId: string): Promise<void>;
}

export interface SessionDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  path: string;
  tokens: SessionTokens;
}

const SECRET = /^[A-Za-z0-9_-]{43}$/;

export class BrowserSessions {
  readonly #deps: SessionDependencies;
  readonly #byDigest = new Map<string, Session>();
  #document: JsonDocument<z.infer<typeof Document>> | null;
  #saved: Promise<unknown> = Promise.resolve();
  /**
   * Why the file can't be read, in words. The file then stays unchanged, and sessions last as long
   * as this run.
   */
  readonly problem: string | null;

  private constructor(
    deps: SessionDependencies,
    document: JsonDocument<z.infer<typeof Document>> | null,
    problem: string | null,
  ) {
    this.#deps = deps;
    this.#document = document;
    this.problem = problem;
    for (const session of document?.value.sessions ?? []) this.#byDigest.set(session.digest, session);
  }

  static async open(deps: SessionDependencies): Promise<BrowserSessions> {
    try {
      return new BrowserSessions(deps, await JsonDocument.read(options(deps)), null);
    } catch (error) {
      if (!(error instanceof HomeProblem)) throw error;
      return new BrowserSessions(deps, null, error.message);
    }
  }

  /** Creates a session of a valid access token and returns its secret for the cookie. */
  openWithToken(tokenId: string): Promise<string> {
    return this.#add(tokenId, false);
  }

  /** A session of the machine's owner, who redeemed a login link in a browser of that name. */
  async openForOwner(name: string): Promise<string> {
    await this.#prune();
    const id = await this.#ownersToken(name);
    try {
      return await this.#add(id, true);
    } catch (error) {
      await this.#deps.tokens.revoke(id).catch(() => undefined);
      throw error;
    }
  }

  /** The valid access token of a cookie's secret, or null. Called on every request. */
  find(secret: string): AccessToken | null {
    if (!SECRET.test(secret)) return null;
    const session = this.#byDigest.get(digestOf(secret));
    if (session === undefined || session.expires_at <= this.#deps.clock.now()) return null;
    return this.#deps.tokens.use(session.token_id);
  }

  /** The id of its access token. Looking isn't a use. */
  tokenId(secret: string): string | null {
    return this.#byDigest.get(digestOf(secret))?.token_id ?? null;
  }

  /**
   * Ends a session. A missing one has already ended. One that the disk keeps is still there, so
   * that it can be ended again.
   */
  async end(secret: string): Promise<void> {
    const session = this.#byDigest.get(digestOf(secret));
    if (session === undefined) return;
    // Without its token it opens nothing, whatever becomes of the file.
    await this.#release(session);
    this.#byDigest.delete(session.digest);
    try {
      await this.#save();
    } catch (error) {
      this.#byDigest.set(session.digest, session);
      throw error;
    }
  }

  async #add(tokenId: string, ownsToken: boolean): Promise<string> {
    await this.#prune();
    const secret = Buffer.from(this.#deps.random.bytes(32)).toString("base64url");
    const session: Session = {
      digest: digestOf(secret),
      token_id: tokenId,
      owns_token: ownsToken,
      expires_at: this.#deps.clock.now() + LIMITS.http.sessionDays * 24 * 3600 * 1000,
    };
    this.#byDigest.set(session.digest, session);
    try {
      await this.#save();
    } catch (error) {
      this.#byDigest.delete(session.digest);
      throw error;
    }
    return secret;
  }

  /**
   * If tokens have reached their limit, the owner's oldest sessions make room, because the
   * machine's owner must be able to get in.
   */
  async #ownersToken(name: string): Promise<string> {
    for (;;) {
      try {
        return (await this.#deps.tokens.create({ name, kind: "administrator", groups: [], session: true }))
          .id;
      } catch (error) {
        const oldest = [...this.#byDigest.values()].find((session) => session.owns_token);
        if (!(error instanceof Refusal && error.code === "limit_reached") || oldest === undefined)
          throw error;
        await this.#release(oldest);
        this.#byDigest.delete(oldest.digest);
      }
    }
  }

  /** Removes what has expired or lost its token, and the oldest beyond the limit. */
  async #prune(): Promise<void> {
    const now = this.#deps.clock.now();
    const gone: Session[] = [];
    for (const session of this.#byDigest.values()) {
      const crowded = this.#byDigest.size - gone.length >= LIMITS.http.sessions;
      const dead = session.expires_at <= now || this.#deps.tokens.find(session.token_id) === null;
      if (crowded || dead) gone.push(session);
    }
    for (const session of gone) {
      await this.#release(session);
      this.#byDigest.delete(session.digest);
    }
  }

  async #release(session: Session): Promise<void> {
    if (!session.owns_token || this.#deps.tokens.find(session.token_id) === null) return;
    try {
      await this.#deps.tokens.revoke(session.token_id);
    } catch (error) {
      if (!(error instanceof Refusal && error.code === "token_not_found")) throw error;
    }
  }

  /** One after the other: the first makes the file. */
  #save(): Promise<void> {
    const turn = this.#saved.then(async () => {
      if (this.problem !== null) return;
      const value = (): z.infer<typeof Document> => ({ v: 1, sessions: [...this.#byDigest.values()] });
      if (this.#document === null) this.#document = await JsonDocument.create(options(this.#deps), value());
      else await this.#document.update(value);
    });
    this.#saved = turn.catch(() => undefined);
    return turn;
  }
}

function options(deps: SessionDependencies) {
  return { files: deps.files, path: deps.path, version: 1, schema: Document };
}

function digestOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
