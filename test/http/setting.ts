/**
 * The Web listener over real sockets with services of a test's own: tokens, ledgers and files in
 * memory, time in the test's hand.
 */

import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { request as secureRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Api, createApi } from "../../daemon/http/api/api.ts";
import type { FileStore } from "../../daemon/http/api/files.ts";
import type { FramingPort, PeerPort } from "../../daemon/http/api/peers.ts";
import type { LaunchIdentity } from "../../daemon/http/local/local-caller.ts";
import type { ActivityFeed } from "../../daemon/http/streams/activity-stream.ts";
import type { FollowedLedger } from "../../daemon/http/streams/ledger-subscription.ts";
import { StreamHub } from "../../daemon/http/streams/stream-hub.ts";
import type { Terminals } from "../../daemon/http/streams/terminal-socket.ts";
import { BrowserSessions } from "../../daemon/http/web/browser-sessions.ts";
import { LoginLinks } from "../../daemon/http/web/login-links.ts";
import { WebListener } from "../../daemon/http/web/web-listener.ts";
import type { Ordinal, Page, PageRequest, Placed } from "../../daemon/ledger/types.ts";
import { Frames } from "../../daemon/peers/https/frames.ts";
import { UNLIMITED } from "../../platform/descriptors.ts";
import { RequestIds } from "../../platform/http/request-id.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealNetwork } from "../../platform/real-network.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { Refusal } from "../../shared/errors.ts";
import type { LedgerEvent } from "../../shared/events.ts";
import type { AccessToken } from "../../shared/operations/access.ts";
import type { GroupSummary } from "../../shared/operations/groups.ts";
import { type FakeHandlers, fakeDispatcher, MemoryLog } from "../operations/support.ts";
import { odd } from "../support/events.ts";
import { ManualClock } from "../support/manual-clock.ts";

export const GROUP = "g_00000000000a";
export const OTHER = "g_00000000000b";

export class MemoryTokens {
  readonly records = new Map<string, AccessToken>();
  most = Number.POSITIVE_INFINITY;
  #made = 0;
  readonly #listeners = new Set<() => void>();

  add(token: string, kind: AccessToken["kind"], groups: string[] = []): string {
    const id = `t_${createHash("sha256").update(token).digest("hex").slice(0, 12)}`;
    this.records.set(token, { id, name: token, kind, groups, created_at: "", last_used_at: null });
    return id;
  }
  verify(token: string): AccessToken | null {
    return this.records.get(token) ?? null;
  }
  find(id: string): AccessToken | null {
    return [...this.records.values()].find((record) => record.id === id) ?? null;
  }
  use(id: string): AccessToken | null {
    const record = this.find(id);
    if (record !== null) record.last_used_at = "now";
    return record;
  }
  async create(token: { name: string; kind: AccessToken["kind"]; groups: string[] }) {
    if (this.records.size >= this.most) throw new Refusal("limit_reached");
    const secret = `made-${this.#made++}-${token.name}`;
    return { id: this.add(secret, token.kind, token.groups), token: secret };
  }
  async revoke(id: string): Promise<void> {
    for (const [token, record] of this.records) if (record.id === id) this.records.delete(token);
    for (const listener of this.#listeners) listener();
  }
  onRevoked(listener: () => void): void {
    this.#listeners.add(listener);
  }
}

export class MemoryLedger implements FollowedLedger {
  readonly events: LedgerEvent[] = [];
  readonly #listeners = new Set<(placed: readonly Placed[]) => void>();
  readonly #groupId: string;

  constructor(groupId: string) {
    this.#groupId = groupId;
  }
  get lastOrdinal(): Ordinal {
    return this.events.length - 1;
  }
  get followers(): number {
    return this.#listeners.size;
  }
  ordinalOf(id: string): Ordinal | undefined {
    const index = this.events.findIndex((event) => event.id === id);
    return index === -1 ? undefined : index;
  }
  idOf(ordinal: Ordinal): string {
    return this.events[ordinal]!.id;
  }
  readMany(ordinals: readonly Ordinal[]): LedgerEvent[] {
    return ordinals.map((ordinal) => this.events[ordinal]!);
  }
  read(ordinal: Ordinal): LedgerEvent {
    return this.events[ordinal]!;
  }
  page({ after, limit }: PageRequest): Page {
    const from = after === undefined ? 0 : this.ordinalOf(after)! + 1;
    return { events: this.events.slice(from, from + limit), more: from + limit < this.events.length };
  }
  follow(listener: (placed: readonly Placed[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  /** Appends `count` events as one batch. */
  append(count = 1, text = ""): LedgerEvent[] {
    const placed: Placed[] = [];
    for (let added = 0; added < count; added++) {
      const ordinal = this.events.length;
      const event = odd({
        v: 1,
        id: createHash("sha256").update(`${this.#groupId}${ordinal}`).digest("hex").slice(0, 32),
        ts: "2026-01-01T00:00:00.000Z",
        kind: "chat.message",
        group_id: this.#groupId,
        scope_key: "",
        by: "user",
        data: { text, ordinal },
      });
      this.events.push(event);
      placed.push({ ordinal, event });
    }
    for (const listener of this.#listeners) listener(placed);
    return placed.map(({ event }) => event);
  }
}

export function summaryFor(groupId: string): GroupSummary {
  return {
    group_id: groupId,
    title: groupId,
    topic: "",
    state: "active",
    created_at: "",
    updated_at: "",
    actors: 0,
    unread: 0,
    first_unread: null,
    attention: 0,
    last_event: null,
  };
}

export interface SettingOptions {
  handlers?: FakeHandlers;
  files?: FileStore;
  activity?: ActivityFeed;
  peers?: PeerPort;
  framing?: FramingPort;
  terminals?: Terminals;
  frames?: (clock: ManualClock) => Frames;
  verifyLaunchToken?: (token: string) => LaunchIdentity | null;
  tls?: { cert: string; key: string };
  manualOrigin?: string;
  workbench?: string;
  mcp?: (request: IncomingMessage, response: import("node:http").ServerResponse) => Promise<void>;
  host?: string;
  exhibit?: readonly string[];
}

export interface Answer {
  status: number;
  headers: IncomingMessage["headers"];
  text: string;
  /** The refusal's code, or undefined. */
  code: string | undefined;
  result: unknown;
}

export interface Setting {
  port: number;
  origin: string;
  clock: ManualClock;
  tokens: MemoryTokens;
  links: LoginLinks;
  log: MemoryLog;
  hub: StreamHub;
  api: Api;
  ledgers: Map<string, MemoryLedger>;
  /** Groups that are being reset. */
  changing: Set<string>;
  /** Manual origin of Remote Access; may be changed. */
  remote: { origin: string | null };
  /** Sessions as a restarted daemon finds them. */
  reopenSessions(): Promise<BrowserSessions>;
  send(method: string, path: string, options?: SendOptions): Promise<Answer>;
  close(): Promise<void>;
}

export interface SendOptions {
  headers?: Record<string, string>;
  body?: unknown;
  /** Sent as it is. */
  raw?: string | Buffer;
}

/** Handlers with these answers, by operation, and the operations and inputs that they got. */
export function recording(answers: Readonly<Record<string, unknown>>): {
  calls: unknown[];
  handlers: FakeHandlers;
} {
  const calls: unknown[] = [];
  const handlers = Object.entries(answers).map(([name, answer]) => [
    name,
    (input: unknown) => {
      calls.push([name, input]);
      return answer;
    },
  ]);
  return { calls, handlers: Object.fromEntries(handlers) as FakeHandlers };
}

export async function openSetting(options: SettingOptions = {}): Promise<Setting> {
  const directory = mkdtempSync(join(tmpdir(), "svc-http-"));
  const clock = new ManualClock();
  const log = new MemoryLog();
  const random = new RealRandom();
  const network = new RealNetwork();
  const tokens = new MemoryTokens();
  const links = new LoginLinks({ clock, random });
  const changing = new Set<string>();
  const ledgers = new Map([GROUP, OTHER].map((id) => [id, new MemoryLedger(id)]));
  const sessionFiles = { files: new RealFiles(), clock, random, path: join(directory, "sessions"), tokens };
  const sessions = await BrowserSessions.open(sessionFiles);
  const hub = new StreamHub({
    clock,
    log,
    groupIds: () => [...ledgers.keys()],
    ledgerOf(groupId) {
      const ledger = ledgers.get(groupId);
      if (ledger === undefined) throw new Refusal("group_not_found", { details: { group_id: groupId } });
      return ledger;
    },
    isChanging: (groupId) => changing.has(groupId),
    summary: async (groupId) => (ledgers.has(groupId) ? summaryFor(groupId) : null),
    needsYou: () => [],
  });
  tokens.onRevoked(() => hub.recheck());
  const remote = { origin: options.manualOrigin ?? null };
  const requestIds = new RequestIds(random);
  const dispatcher = fakeDispatcher(options.handlers ?? {}, { log });
  const api = createApi({
    dispatcher,
    clock,
    log,
    requestIds,
    tokens,
    sessions,
    links,
    hub,
    terminals: options.terminals ?? {
      attach() {
        throw new Refusal("actor_not_found");
      },
    },
    presentations: {
      openPresentation() {
        throw new Refusal("presentation_not_found");
      },
    },
    files: options.files ?? {
      upload: () => Promise.reject(new Refusal("blob_not_found")),
      openBlob() {
        throw new Refusal("blob_not_found");
      },
    },
    peers: options.peers ?? {
      identity() {
        throw new Refusal("connect_unavailable");
      },
      receive: () => Promise.reject(new Refusal("connect_peer_denied")),
      groupCheck: () => Promise.reject(new Refusal("connect_group_denied")),
    },
    framing: options.framing ?? {
      open: () => Promise.reject(new Refusal("account_unavailable")),
      origins: () => [],
    },
    frames:
      options.frames?.(clock) ?? new Frames({ clock, instance_id: "", grantOf: () => null, ask: () => null }),
    activity: options.activity ?? {
      follow: () => () => {},
      view: () => [],
    },
    metrics: {
      operations: () => dispatcher.counts,
      streams: () => hub.size,
      groups: () => 2,
      checks: () => [],
    },
    isReady: () => true,
    workbench: options.workbench ?? null,
    mcp: options.mcp ?? null,
  });
  const listener = await WebListener.open({
    network,
    clock,
    log,
    most: 64,
    descriptors: UNLIMITED,
    host: options.host ?? "127.0.0.1",
    port: 0,
    tls: options.tls ?? null,
    manualOrigin: () => remote.origin,
    app: async (names) =>
      options.exhibit === undefined ? api.web(names) : api.exhibit(names, options.exhibit),
  });
  const { port } = listener.names;
  const sender = options.tls === undefined ? request : secureRequest;
  return {
    port,
    origin: listener.origin,
    clock,
    tokens,
    links,
    log,
    hub,
    api,
    ledgers,
    changing,
    remote,
    reopenSessions: () => BrowserSessions.open(sessionFiles),
    send(method, path, { headers = {}, body, raw } = {}) {
      const bytes = raw ?? (body === undefined ? undefined : JSON.stringify(body));
      return new Promise((resolve, reject) => {
        const sent = sender(
          {
            host: "127.0.0.1",
            port,
            method,
            path,
            agent: false,
            rejectUnauthorized: false,
            headers: {
              ...(bytes === undefined ? {} : { "content-length": Buffer.byteLength(bytes) }),
              ...(body === undefined ? {} : { "content-type": "application/json" }),
              ...headers,
            },
          },
          (response) => {
            const chunks: Buffer[] = [];
            response.on("data", (chunk: Buffer) => chunks.push(chunk));
            response.on("error", reject);
            response.on("end", () => {
              const text = Buffer.concat(chunks).toString("utf8");
              let parsed: { result?: unknown; error?: { code?: string } } = {};
              try {
                parsed = JSON.parse(text) as typeof parsed;
              } catch {
                // Not an envelope.
              }
              resolve({
                status: response.statusCode ?? 0,
                headers: response.headers,
                text,
                code: parsed.error?.code,
                result: parsed.result,
              });
            });
          },
        );
        sent.on("error", reject);
        sent.end(bytes);
      });
    },
    async close() {
      hub.close();
      const closed = listener.close(100);
      clock.advance(1000);
      await closed;
      rmSync(directory, { recursive: true });
    },
  };
}

/** The cookie pair of a `Set-Cookie`, ready for `Cookie`. */
export function cookieOf(answer: Answer): string {
  return answer.headers["set-cookie"]![0]!.split(";")[0]!;
}
