/**
 * Launch tokens: how an external Actor proves its identity
 * (docs/core-model.md#identity-of-a-caller). The token is in an owner-only file that the Actor's
 * MCP configuration names (SVC_ACTOR_FILE). The daemon keeps its digest. Only the file counts: at
 * its start, the daemon reads the digests from the files, so a crash can't make the two disagree.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import {
  ensureDirectory,
  readWhole,
  replaceFile,
  storageRefusal,
  syncDirectory,
  unlinkIfThere,
} from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import { errorFields, type Log } from "../../platform/log.ts";
import type { Random } from "../../platform/random.ts";
import type { OpenGroup } from "./group.ts";
import type { GroupRegistry } from "./registry.ts";

export interface LaunchIdentity {
  group_id: string;
  actor_id: string;
  generation: string;
  /** Of the token: SHA-256, base64. */
  digest: string;
}

/** A token that was just made. */
export interface IssuedToken {
  /** Of its owner-only file. */
  path: string;
  /** For the environment of a process, and for nothing else. */
  token: string;
  digest: string;
}

/** The file that SVC_ACTOR_FILE names. */
interface TokenFile extends Omit<LaunchIdentity, "digest"> {
  v: 1;
  token: string;
  /** Root of the Home, so that the Actor's process finds the daemon. */
  home: string;
}

export interface LaunchTokenDependencies {
  files: Files;
  random: Random;
  log: Log;
  /** Root of the Home. */
  home: string;
  registry: GroupRegistry;
}

const TOKEN = /^[A-Za-z0-9_-]{43}$/;

function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}

function slotOf({
  group_id: groupId,
  actor_id: actorId,
}: Pick<LaunchIdentity, "group_id" | "actor_id">): string {
  return `${groupId}/${actorId}`;
}

/** Null if the file isn't a token file that this program knows. */
function parse(bytes: Uint8Array): TokenFile | null {
  try {
    const found = JSON.parse(Buffer.from(bytes).toString("utf8")) as TokenFile;
    const members = [found.group_id, found.actor_id, found.generation, found.token, found.home];
    return found.v === 1 && members.every((member) => typeof member === "string") && TOKEN.test(found.token)
      ? found
      : null;
  } catch {
    return null;
  }
}

export class LaunchTokens {
  readonly #deps: LaunchTokenDependencies;
  readonly #identities = new Map<string, LaunchIdentity>();
  /** Digest per Actor. */
  readonly #digests = new Map<string, string>();
  readonly #listeners = new Set<(identity: LaunchIdentity) => void>();
  #last: Promise<unknown> = Promise.resolve();

  private constructor(deps: LaunchTokenDependencies) {
    this.#deps = deps;
  }

  /**
   * Loads the tokens of all Groups and follows changes. Removes files that no longer belong to an
   * Actor.
   */
  static async open(deps: LaunchTokenDependencies): Promise<LaunchTokens> {
    const tokens = new LaunchTokens(deps);
    for (const group of deps.registry.list()) {
      tokens.#take(group);
      await tokens.#moveHome(group);
    }
    deps.registry.onChange(({ group_id: groupId, what, late }) => {
      if (what === "removed") tokens.#tellOf(groupId);
      if (what === "removed" || what === "created") tokens.#sweep();
      if (late === true) tokens.#takeLate(deps.registry.get(groupId));
    });
    return tokens;
  }

  /**
   * The Actor that the token belongs to, or null. It is found by its digest, so that the time taken
   * reveals nothing about the token. Only an existing Actor of the same generation counts.
   */
  verify(token: string): LaunchIdentity | null {
    return TOKEN.test(token) ? this.find(digestOf(token)) : null;
  }

  /** The same by the token's digest. */
  find(digest: string): LaunchIdentity | null {
    const identity = this.#identities.get(digest);
    if (identity === undefined) return null;
    const group = this.#deps.registry.find(identity.group_id);
    const actor = group?.record.actors.find((one) => one.id === identity.actor_id);
    return actor?.generation === identity.generation ? identity : null;
  }

  /**
   * Creates a new token for the Actor. An earlier one becomes invalid. Throws storage_full or
   * storage_failed.
   */
  async issue(group: OpenGroup, actor: { id: string; generation: string }): Promise<IssuedToken> {
    const { files, random, home } = this.#deps;
    const identity = { group_id: group.group_id, actor_id: actor.id, generation: actor.generation };
    const token = Buffer.from(random.bytes(32)).toString("base64url");
    const path = group.paths.tokenFile(actor.id);
    return this.#inTurn(async () => {
      await ensureDirectory(files, group.paths.tokens);
      try {
        await this.#write(path, { v: 1, ...identity, token, home });
      } catch (error) {
        this.#takeWritten(identity, path, token);
        throw error;
      }
      this.#forget(identity);
      return { path, token, digest: this.#remember(identity, token) };
    });
  }

  /** Ends the Actor's token and removes its file. */
  async remove(group: OpenGroup, actorId: string): Promise<void> {
    const { files } = this.#deps;
    const actor = { group_id: group.group_id, actor_id: actorId };
    this.#forget(actor);
    await this.#inTurn(async () => {
      // One that was on its way.
      this.#forget(actor);
      if (unlinkIfThere(files, group.paths.tokenFile(actorId))) {
        await syncDirectory(files, group.paths.tokens);
      }
    });
  }

  /**
   * Changes of files, one after the other: an Actor that is added has the file of one with its id
   * that is being removed. Throws storage_full or storage_failed.
   */
  #inTurn<Result>(step: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(step).catch((error: unknown) => {
      throw storageRefusal(error);
    });
    this.#last = result.catch(() => undefined);
    return result;
  }

  /**
   * Called when an Actor's token ends: when the Actor is restarted or removed, or its Group deleted
   * or reset. After a reset the token still verifies.
   */
  onRevoked(listener: (identity: LaunchIdentity) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #take(group: OpenGroup): void {
    const { files } = this.#deps;
    for (const [path, found] of this.#stored(group)) {
      const actor = group.record.actors.find((one) => group.paths.tokenFile(one.id) === path);
      if (actor === undefined) unlinkIfThere(files, path);
      else if (
        found?.generation === actor.generation &&
        found.group_id === group.group_id &&
        found.actor_id === actor.id
      ) {
        const { group_id: groupId, actor_id: actorId, generation } = found;
        this.#remember({ group_id: groupId, actor_id: actorId, generation }, found.token);
      }
    }
  }

  /** The disk failed late: the file may have the new token, and then that one counts. */
  #takeWritten(identity: Omit<LaunchIdentity, "digest">, path: string, token: string): void {
    try {
      if (parse(readWhole(this.#deps.files, path) ?? Buffer.of())?.token !== token) return;
    } catch {
      return;
    }
    this.#forget(identity);
    this.#remember(identity, token);
  }

  /** The Group is open, whatever the disk says of its tokens. */
  #takeLate(group: OpenGroup): void {
    const failed = (error: unknown): void =>
      this.#deps.log.warn("launch tokens", { group_id: group.group_id, ...errorFields(error) });
    try {
      this.#take(group);
    } catch (error) {
      failed(error);
    }
    // Its Actors may get new tokens already.
    void this.#inTurn(() => this.#moveHome(group)).catch(failed);
  }

  /** A moved Home: the files say where it is now (ID-008). */
  async #moveHome(group: OpenGroup): Promise<void> {
    const { home } = this.#deps;
    for (const [path, found] of this.#stored(group)) {
      if (found !== null && found.home !== home) await this.#write(path, { ...found, home });
    }
  }

  #stored(group: OpenGroup): [string, TokenFile | null][] {
    const { files } = this.#deps;
    if (files.stat(group.paths.tokens) === null) return [];
    return files
      .list(group.paths.tokens)
      .map((name) => join(group.paths.tokens, name))
      .filter((path) => path.endsWith(".json") && files.stat(path)?.kind === "file")
      .map((path) => {
        const bytes = readWhole(files, path);
        return [path, bytes === null ? null : parse(bytes)];
      });
  }

  #write(path: string, content: TokenFile): Promise<void> {
    return replaceFile(this.#deps.files, path, Buffer.from(`${JSON.stringify(content, null, 2)}\n`));
  }

  #remember(actor: Omit<LaunchIdentity, "digest">, token: string): string {
    const digest = digestOf(token);
    const identity = { ...actor, digest };
    this.#identities.set(digest, identity);
    this.#digests.set(slotOf(identity), digest);
    return digest;
  }

  #forget(actor: Pick<LaunchIdentity, "group_id" | "actor_id">): void {
    const slot = slotOf(actor);
    const digest = this.#digests.get(slot);
    const identity = digest === undefined ? undefined : this.#identities.get(digest);
    if (digest === undefined || identity === undefined) return;
    this.#digests.delete(slot);
    this.#identities.delete(digest);
    for (const listener of this.#listeners) listener(identity);
  }

  /**
   * Ends the sessions of a Group that is removed. Its tokens stay: after a reset they are valid
   * again.
   */
  #tellOf(groupId: string): void {
    for (const identity of this.#identities.values()) {
      if (identity.group_id === groupId) for (const listener of this.#listeners) listener(identity);
    }
  }

  /** Forgets the tokens of Groups that were deleted before. */
  #sweep(): void {
    for (const [digest, identity] of this.#identities) {
      if (this.#deps.registry.knows(identity.group_id)) continue;
      this.#identities.delete(digest);
      this.#digests.delete(slotOf(identity));
    }
  }
}
