/**
 * Access tokens for people's browsers and for the exhibit. They are shown once, and only digests
 * are kept (docs/core-model.md#ports).
 */
import { createHash } from "node:crypto";
import { type Clock, type Timer, timestamp } from "../../platform/clock.ts";
import type { JsonDocument } from "../../platform/documents.ts";
import type { Random } from "../../platform/random.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { AccessToken } from "../../shared/operations/access.ts";
import type { Settings, StoredAccessToken } from "../home/settings.ts";

export interface NewAccessToken {
  name: string;
  kind: AccessToken["kind"];
  /** Empty for an administrator. */
  groups: string[];
  /** Made for a browser's session. */
  session?: true;
}

export interface AccessTokenDependencies {
  clock: Clock;
  random: Random;
  settings: JsonDocument<Settings>;
}

const TOKEN = /^svc_[A-Za-z0-9_-]{43}$/;
/** Uses are saved together, this long after the first of them. */
const FLUSH_USES_MS = 60_000;

function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

function publicPart(stored: StoredAccessToken): AccessToken {
  const { digest: _, ...rest } = stored;
  return rest;
}

export class AccessTokens {
  readonly #deps: AccessTokenDependencies;
  readonly #byDigest: Map<string, AccessToken>;
  /** Last uses that haven't been saved yet. */
  readonly #uses = new Map<string, string>();
  readonly #listeners = new Set<(tokenId: string) => void>();
  #flush: Timer | null = null;

  constructor(deps: AccessTokenDependencies) {
    this.#deps = deps;
    const { access_tokens: accessTokens } = deps.settings.value;
    this.#byDigest = new Map(accessTokens.map((stored) => [stored.digest, publicPart(stored)]));
  }

  /**
   * The only time that the token is shown: `svc_` and 256 bits in base64url. Throws limit_reached.
   */
  async create(wanted: NewAccessToken): Promise<{ id: string; token: string }> {
    const { clock, random, settings } = this.#deps;
    const token = `svc_${Buffer.from(random.bytes(32)).toString("base64url")}`;
    const stored: StoredAccessToken = {
      id: `t_${Buffer.from(random.bytes(6)).toString("hex")}`,
      name: wanted.name,
      kind: wanted.kind,
      groups: wanted.groups,
      created_at: timestamp(clock),
      last_used_at: null,
      ...(wanted.session === undefined ? {} : { session: wanted.session }),
      digest: digestOf(token),
    };
    await settings.update((value) => {
      if (value.access_tokens.length >= LIMITS.accessToken.perHome) {
        const limit = LIMITS.accessToken.perHome;
        throw new Refusal("limit_reached", {
          specifics: `The limit of ${limit} access tokens has been reached.`,
          remedy: "Revoke one first. 'svc token list' shows them.",
          details: { limit },
        });
      }
      return { ...value, access_tokens: [...value.access_tokens, stored] };
    });
    this.#byDigest.set(stored.digest, publicPart(stored));
    return { id: stored.id, token };
  }

  list(): AccessToken[] {
    return [...this.#byDigest.values()].map((token) => this.#withUse(token));
  }

  /** Durable once resolved, and then listeners are called. Throws token_not_found. */
  async revoke(tokenId: string): Promise<void> {
    if (this.find(tokenId) === null) throw new Refusal("token_not_found");
    await this.#deps.settings.update((value) => ({
      ...value,
      access_tokens: value.access_tokens.filter((stored) => stored.id !== tokenId),
    }));
    this.#uses.delete(tokenId);
    for (const [digest, token] of this.#byDigest) {
      if (token.id === tokenId) this.#byDigest.delete(digest);
    }
    for (const listener of this.#listeners) listener(tokenId);
  }

  /**
   * The record of a valid token, or null. It is found by its digest, so that the time taken reveals
   * nothing. Records the use.
   */
  verify(token: string): AccessToken | null {
    if (!TOKEN.test(token)) return null;
    const found = this.#byDigest.get(digestOf(token));
    return found === undefined ? null : this.#noteUse(found);
  }

  /** As `verify`, by id, for sessions that were opened with the token. */
  use(tokenId: string): AccessToken | null {
    const found = this.find(tokenId);
    return found === null ? null : this.#noteUse(found);
  }

  /** The record of a valid token by its id, or null. */
  find(tokenId: string): AccessToken | null {
    const found = [...this.#byDigest.values()].find((token) => token.id === tokenId);
    return found === undefined ? null : this.#withUse(found);
  }

  /** Returns a function that stops listening. */
  onRevoked(listener: (tokenId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Saves what is pending. */
  async close(): Promise<void> {
    await this.#writeUses();
  }

  #noteUse(token: AccessToken): AccessToken {
    this.#uses.set(token.id, timestamp(this.#deps.clock));
    this.#flush ??= this.#deps.clock.after(FLUSH_USES_MS, () => void this.#writeUses().catch(() => {}), {
      background: true,
    });
    return this.#withUse(token);
  }

  #withUse(token: AccessToken): AccessToken {
    const used = this.#uses.get(token.id);
    return used === undefined ? token : { ...token, last_used_at: used };
  }

  async #writeUses(): Promise<void> {
    this.#flush?.cancel();
    this.#flush = null;
    const uses = new Map(this.#uses);
    if (uses.size === 0) return;
    const { access_tokens: accessTokens } = await this.#deps.settings.update((value) => ({
      ...value,
      access_tokens: value.access_tokens.map((stored) => ({
        ...stored,
        last_used_at: uses.get(stored.id) ?? stored.last_used_at,
      })),
    }));
    for (const stored of accessTokens) {
      if (this.#byDigest.has(stored.digest)) this.#byDigest.set(stored.digest, publicPart(stored));
      if (this.#uses.get(stored.id) === uses.get(stored.id)) this.#uses.delete(stored.id);
    }
  }
}
