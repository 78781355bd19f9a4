/**
 * Web Push: the browsers that are told by their push services, this instance's key for those
 * services, and sending. A subscription ends with the access token of the session that made it.
 */
import { createECDH } from "node:crypto";
import * as z from "zod";
import type { HomePaths } from "../../client/paths.ts";
import { type Clock, timestamp } from "../../platform/clock.ts";
import { JsonDocument, type KeptFiles } from "../../platform/documents.ts";
import type { Files } from "../../platform/files.ts";
import type { HttpClient } from "../../platform/http/client.ts";
import { errorFields, type Log } from "../../platform/log.ts";
import { HomeProblem } from "../../platform/problem.ts";
import type { Random } from "../../platform/random.ts";
import { tellReplaced } from "../../platform/replaced.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { AccessToken } from "../../shared/operations/access.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import { NOTIFICATION_KINDS } from "../../shared/operations/notification-kinds.ts";
import { type NeedsYouItem, NotificationKind } from "../../shared/operations/notifications.ts";
import type { InputOf, ResultOf } from "../../shared/operations/registry.ts";
import { personOf } from "./claims.ts";
import type { PushKey } from "./push-message.ts";
import { pushEndpoint } from "./push-services.ts";

const Stored = z.strictObject({
  id: z.string(),
  token_id: z.string(),
  endpoint: z.string(),
  p256dh: z.string(),
  auth: z.string(),
  kinds: z.array(NotificationKind),
  created_at: z.string(),
  sent: z.int(),
  failed: z.int(),
  last_sent_at: z.string().nullable(),
  last_failure: z.strictObject({ at: z.string(), reason: z.string() }).nullable(),
});
type Stored = z.infer<typeof Stored>;
const Subscriptions = z.strictObject({ v: z.literal(1), subscriptions: z.array(Stored) });
type Subscriptions = z.infer<typeof Subscriptions>;
const KeyDocument = z.strictObject({ v: z.literal(1), private_key: z.string(), public_key: z.string() });

export interface PushDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  log: Log;
  paths: Pick<HomePaths, "push" | "pushKey">;
  kept?: KeptFiles | undefined;
  /** Requests that reach public addresses only. */
  http: HttpClient;
  /** Hosts of push services (push-services.ts). */
  services: readonly string[];
  tokens: {
    find(tokenId: string): AccessToken | null;
    onRevoked(listener: (tokenId: string) => void): () => void;
  };
  /** This instance's address on the Internet; null if it has none. */
  origin(): string | null;
}

/** What a phone is told. There is no text of a message in it. */
export type PushPayload = Pick<
  NeedsYouItem,
  "key" | "kind" | "group_id" | "group_title" | "actor" | "event_id"
>;

export type Sent = ResultOf<"push_test">;

const MINUTE_MS = 60_000;
/** Push services want to know whom to write to. Some refuse addresses that can't exist. */
const NO_ORIGIN = "mailto:svc@example.com";
/** The browser has gone from its push service for good. */
const GONE: ReadonlySet<number> = new Set([404, 410]);

export class Push {
  readonly #deps: PushDependencies;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  /** Monotonic times at which each subscription was last sent something, oldest first. */
  readonly #recent = new Map<string, number[]>();
  #document: JsonDocument<Subscriptions> | null;
  #key: Promise<PushKey> | null = null;
  #writing: Promise<unknown> = Promise.resolve();
  /** Why the subscriptions can't be read, in words. The file then stays as it is. */
  readonly problem: string | null;
  readonly #unfollow: () => void;

  private constructor(
    deps: PushDependencies,
    document: JsonDocument<Subscriptions> | null,
    problem: string | null,
  ) {
    this.#deps = deps;
    this.#document = document;
    this.problem = problem;
    this.#unfollow = deps.tokens.onRevoked((tokenId) => this.#lost(tokenId));
  }

  static async open(deps: PushDependencies): Promise<Push> {
    try {
      return new Push(deps, await JsonDocument.read(documentOptions(deps)), null);
    } catch (error) {
      if (!(error instanceof HomeProblem)) throw error;
      return new Push(deps, null, error.message);
    }
  }

  /** Those whose access token is valid. */
  get #subscriptions(): readonly Stored[] {
    const all = this.#document?.value.subscriptions ?? [];
    return all.filter(({ token_id: tokenId }) => this.#deps.tokens.find(tokenId) !== null);
  }

  get size(): number {
    return this.#subscriptions.length;
  }

  /** Everything that was sent since the subscriptions were made, and what failed. */
  get counts(): { sent: number; failed: number } {
    const all = this.#subscriptions;
    const sum = (name: "sent" | "failed"): number => all.reduce((total, one) => total + one[name], 0);
    return { sent: sum("sent"), failed: sum("failed") };
  }

  /** The public key, made at the first call. Throws storage_failed and storage_full. */
  async prepare(): Promise<ResultOf<"push_prepare">> {
    return { public_key: (await this.#keyPair()).public_key };
  }

  list(caller: Caller): ResultOf<"push_list"> {
    const token = tokenOf(caller);
    const own = this.#ownedBy(caller);
    return {
      subscriptions: own.map(({ id, token_id: tokenId, endpoint, ...told }) => ({
        id,
        name: this.#deps.tokens.find(tokenId)?.name ?? "",
        service: new URL(endpoint).host,
        kinds: [...told.kinds],
        created_at: told.created_at,
        current: tokenId === token,
        sent: told.sent,
        failed: told.failed,
        last_sent_at: told.last_sent_at,
        last_failure: told.last_failure,
      })),
    };
  }

  /** Throws invalid_args, limit_reached, permission_denied, storage_failed, storage_full. */
  async subscribe(
    caller: Caller,
    { endpoint, keys, kinds }: InputOf<"push_subscribe">,
  ): Promise<ResultOf<"push_subscribe">> {
    const tokenId = tokenOf(caller);
    if (tokenId === null) {
      throw new Refusal("permission_denied", { specifics: "Only a signed-in browser can subscribe." });
    }
    const url = pushEndpoint(endpoint, this.#deps.services);
    if (url === null) throw invalid("endpoint", "isn't an address of a known push service");
    if (!isPoint(keys.p256dh)) throw invalid("keys.p256dh", "isn't a public key of the curve P-256");
    const { clock, random } = this.#deps;
    let id = "";
    await this.#update((all) => {
      // Its session may have ended while this waited.
      if (this.#deps.tokens.find(tokenId) === null) throw new Refusal("unauthenticated");
      const before = all.find((one) => one.endpoint === url.href);
      const rest = all.filter((one) => one !== before && one.token_id !== tokenId);
      if (rest.length >= LIMITS.push.subscriptions) {
        throw new Refusal("limit_reached", {
          specifics: `At most ${LIMITS.push.subscriptions} browsers can be told by Web Push.`,
          remedy: "Remove one first.",
          details: { limit: LIMITS.push.subscriptions },
        });
      }
      const isSame = before?.token_id === tokenId;
      id = isSame ? before.id : `p_${Buffer.from(random.bytes(6)).toString("hex")}`;
      const counts = isSame
        ? before
        : { created_at: timestamp(clock), sent: 0, failed: 0, last_sent_at: null, last_failure: null };
      const {
        created_at: createdAt,
        sent,
        failed,
        last_sent_at: lastSentAt,
        last_failure: lastFailure,
      } = counts;
      const made: Stored = {
        id,
        token_id: tokenId,
        endpoint: url.href,
        p256dh: keys.p256dh,
        auth: keys.auth,
        kinds: NOTIFICATION_KINDS.filter((kind) => kinds.includes(kind)),
        created_at: createdAt,
        sent,
        failed,
        last_sent_at: lastSentAt,
        last_failure: lastFailure,
      };
      return [...rest, made];
    });
    return { id };
  }

  /** Throws push_not_found. */
  async unsubscribe(caller: Caller, id: string): Promise<ResultOf<"push_unsubscribe">> {
    this.#own(caller, id);
    await this.#update((all) => all.filter((one) => one.id !== id));
    return { removed: true };
  }

  /** Throws push_not_found. */
  async test(caller: Caller, id: string): Promise<Sent> {
    const { id: found } = this.#own(caller, id);
    return this.#send(found, "test", JSON.stringify({ kind: "test" }));
  }

  /** Those that are told of something: by kind, and only of Groups that their token gives. */
  wanting(item: NeedsYouItem): { id: string; person: string }[] {
    return this.#subscriptions.flatMap((one) => {
      const token = this.#deps.tokens.find(one.token_id);
      if (token === null || !one.kinds.includes(item.kind)) return [];
      if (token.kind === "administrator") return [{ id: one.id, person: "owner" }];
      const isTheirs = item.kind !== "connection" && token.groups.includes(item.group_id);
      return token.kind === "restricted" && isTheirs ? [{ id: one.id, person: token.id }] : [];
    });
  }

  /** Sends what waits to one subscription. Never rejects. */
  async send(id: string, item: NeedsYouItem): Promise<void> {
    const { key, kind, group_id: groupId, group_title: groupTitle, actor, event_id: eventId } = item;
    const payload: PushPayload = {
      key,
      kind,
      group_id: groupId,
      group_title: shortened(groupTitle),
      actor: actor && { id: actor.id, title: shortened(actor.title) },
      event_id: eventId,
    };
    try {
      await this.#send(id, key, JSON.stringify(payload));
    } catch (error) {
      this.#deps.log.warn("web push", errorFields(error));
    }
  }

  /** Ends what is being sent. */
  async close(): Promise<void> {
    this.#unfollow();
    this.#closing.abort();
    await Promise.allSettled(this.#running);
    await this.#writing;
    this.#deps.http.close();
  }

  async #send(id: string, topic: string, payload: string): Promise<Sent> {
    const work = this.#sendAndCount(id, topic, payload);
    this.#running.add(work);
    try {
      return await work;
    } finally {
      this.#running.delete(work);
    }
  }

  /** A browser that has gone is dropped. */
  async #sendAndCount(id: string, topic: string, payload: string): Promise<Sent> {
    const outcome = await this.#attempt(id, topic, payload);
    if (this.#closing.signal.aborted) return { sent: false, reason: "The daemon is shutting down." };
    if (outcome === "gone") {
      await this.#update((all) => all.filter((one) => one.id !== id));
      return { sent: false, reason: "The browser has ended its subscription. It was removed." };
    }
    const at = timestamp(this.#deps.clock);
    await this.#update((all) =>
      all.map((one) => {
        if (one.id !== id) return one;
        return outcome === ""
          ? { ...one, sent: one.sent + 1, last_sent_at: at }
          : { ...one, failed: one.failed + 1, last_failure: { at, reason: outcome } };
      }),
    );
    return { sent: outcome === "", reason: outcome };
  }

  /** Empty if the push service took it, `gone` if the subscription has ended, else why not. */
  async #attempt(id: string, topic: string, payload: string): Promise<string> {
    if (!this.#mayGo(id)) return "Too many notifications in one minute.";
    const key = await this.#keyPair();
    const { pushMessage } = await import("./push-message.ts").catch(tellReplaced);
    // It may have been removed meanwhile.
    const target = this.#subscriptions.find((one) => one.id === id);
    if (target === undefined) return "gone";
    if (pushEndpoint(target.endpoint, this.#deps.services) === null) return "Its push service isn't known.";
    const subject = this.#deps.origin() ?? NO_ORIGIN;
    const { headers, body } = pushMessage(target, key, { payload, topic, subject });
    const answer = await this.#deps.http.request({
      method: "POST",
      url: target.endpoint,
      headers,
      body: { bytes: body.length, parts: [body] },
      limit: LIMITS.push.answerBytes,
      milliseconds: LIMITS.push.requestSeconds * 1000,
      signal: this.#closing.signal,
    });
    if (answer.kind === "failed") return answer.reason.slice(0, LIMITS.push.reasonCharacters);
    if (GONE.has(answer.status)) return "gone";
    return answer.status >= 200 && answer.status < 300 ? "" : `The push service answered ${answer.status}.`;
  }

  #mayGo(id: string): boolean {
    const now = this.#deps.clock.monotonic();
    for (const [one, times] of this.#recent) {
      const recent = times.filter((at) => now - at < MINUTE_MS);
      if (recent.length === 0) this.#recent.delete(one);
      else this.#recent.set(one, recent);
    }
    const recent = this.#recent.get(id) ?? [];
    if (recent.length >= LIMITS.push.perMinute) return false;
    this.#recent.set(id, [...recent, now]);
    return true;
  }

  #ownedBy(caller: Caller): Stored[] {
    const person = personOf(caller);
    return this.#subscriptions.filter(({ token_id: tokenId }) => {
      const token = this.#deps.tokens.find(tokenId);
      return token !== null && (token.kind === "administrator" ? "owner" : token.id) === person;
    });
  }

  #own(caller: Caller, id: string): Stored {
    const found = this.#ownedBy(caller).find((one) => one.id === id);
    if (found === undefined) throw new Refusal("push_not_found");
    return found;
  }

  #lost(tokenId: string): void {
    const isLost = (one: Stored): boolean => one.token_id === tokenId;
    this.#update((all) => (all.some(isLost) ? all.filter((one) => !isLost(one)) : all)).catch(
      (error: unknown) => this.#deps.log.warn("web push", errorFields(error)),
    );
  }

  /** One after the other: the first makes the file. */
  #update(change: (all: readonly Stored[]) => readonly Stored[]): Promise<void> {
    const turn = this.#writing.then(async () => {
      if (this.problem !== null) throw new Refusal("storage_failed", { specifics: this.problem });
      if (this.#document === null) {
        const subscriptions = [...change([])];
        if (subscriptions.length === 0) return;
        this.#document = await JsonDocument.create(documentOptions(this.#deps), { v: 1, subscriptions });
        return;
      }
      await this.#document.update((value) => {
        const changed = change(value.subscriptions);
        return changed === value.subscriptions ? value : { ...value, subscriptions: [...changed] };
      });
    });
    this.#writing = turn.catch(() => undefined);
    return turn;
  }

  #keyPair(): Promise<PushKey> {
    this.#key ??= this.#readKey().catch((error: unknown) => {
      this.#key = null;
      if (error instanceof HomeProblem) throw new Refusal("storage_failed", { specifics: error.message });
      throw error;
    });
    return this.#key;
  }

  async #readKey(): Promise<PushKey> {
    const { files, random, paths, kept } = this.#deps;
    const options = { files, path: paths.pushKey, version: 1, schema: KeyDocument, kept };
    const present = await JsonDocument.read(options);
    return (present ?? (await JsonDocument.create(options, { v: 1, ...newKey(random) }))).value;
  }
}

function newKey(random: Random): PushKey {
  const curve = createECDH("prime256v1");
  for (;;) {
    const number = Buffer.from(random.bytes(32));
    try {
      curve.setPrivateKey(number);
      return {
        private_key: number.toString("base64url"),
        public_key: curve.getPublicKey().toString("base64url"),
      };
    } catch {
      // One of 2^32 numbers isn't a key.
    }
  }
}

function isPoint(p256dh: string): boolean {
  try {
    const probe = createECDH("prime256v1");
    probe.generateKeys();
    probe.computeSecret(Buffer.from(p256dh, "base64url"));
    return true;
  } catch {
    return false;
  }
}

/** At most so many characters, none of them cut in half. */
function shortened(title: string): string {
  return Array.from(title).slice(0, LIMITS.push.titleCharacters).join("");
}

/** The access token behind a caller in a browser; null for the owner of the local socket. */
function tokenOf(caller: Caller): string | null {
  return caller.kind === "user" || caller.kind === "member" ? caller.token_id : null;
}

function invalid(field: string, wrong: string): Refusal {
  return new Refusal("invalid_args", { specifics: `'${field}' ${wrong}.`, details: { field } });
}

function documentOptions({ files, paths, kept }: PushDependencies) {
  return { files, path: paths.push, version: 1, schema: Subscriptions, kept };
}
