/**
 * The extension host's end of a webview (shared/webview-protocol.ts): what a document asks for goes
 * to the daemon, and what it follows comes back as numbered deltas. It knows nothing of the editor.
 * Everything from a document is checked. What doesn't fit, or belongs to an earlier document, has
 * no effect.
 */
import type { Envelope } from "../../client/client.ts";
import { DaemonUnreachable, RefusedByDaemon } from "../../client/failures.ts";
import { Acknowledged } from "../../shared/acknowledged.ts";
import { LIMITS } from "../../shared/limits.ts";
import { HTTP_ROUTES } from "../../shared/operations/http-routes.ts";
import type { TerminalRequest } from "../../shared/terminal.ts";
import {
  type Delta,
  type ExtensionMessage,
  readWebviewMessage,
  type Sealed,
  type Shown,
  WEBVIEW_PROTOCOL,
  type WebviewMessage,
} from "../../shared/webview-protocol.ts";
import { FollowedStream } from "./followed-stream.ts";
import { IncomingFile, sendPieces } from "./pieces.ts";
import type { RelayedLink } from "./relayed-link.ts";

/** What a document may ask of the editor. */
export interface EditorPort {
  /** False in a workspace that isn't trusted. */
  mayWrite(): boolean;
  /** View state of the window, as JSON. */
  memory(): Record<string, string>;
  remember(key: string, value: string | null): void;
  /** Reads a file of the workspace. Throws an error in words for people. */
  readDropped(uri: string): Promise<{ name: string; bytes: Uint8Array }>;
  /** Where the person wants the file; null when they don't. */
  chooseFile(name: string): Promise<string | null>;
  /** Writes the chunks to the path. Leaves nothing there when they fail. */
  writeFile(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void>;
  openLink(url: string): void;
  /** Opens the Workbench in a browser, at the query of an address. */
  openInBrowser(query: string): void;
  openReference(reference: string): void;
  setTitle(title: string): void;
  showing(groupId: string | null): void;
  /** Opens a Group's Workbench to write to an Actor. */
  openActor(groupId: string, actorId: string): void;
}

/** A refusal of the relay itself. */
class Refused extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Operations that change nothing, which a workspace that isn't trusted may call, besides GET. */
const READING = new Set(["ledger_statuses", "feed_read", "feed_unread", "draft_put"]);
const { requests, followed } = LIMITS.webview;

interface Asked {
  end: AbortController;
  /** The pieces of an upload that come in. */
  incoming?: IncomingFile;
  /** The pieces of a file that go out. */
  taken?: Acknowledged;
}

export class Relay {
  readonly #post: (message: Sealed<ExtensionMessage>) => void;
  readonly #link: RelayedLink;
  readonly #editor: EditorPort;
  #session: string | null = null;
  #asked = new Map<number, Asked>();
  #followed = new Map<number, FollowedStream>();
  /** What the document shows first, or when it can. */
  #shown: Shown | null = null;

  /** Posts to one webview, whichever document it has. */
  constructor(post: (message: Sealed<ExtensionMessage>) => void, link: RelayedLink, editor: EditorPort) {
    this.#post = post;
    this.#link = link;
    this.#editor = editor;
  }

  /** Shows a Group now, or when the next document is ready. */
  show(shown: Shown): void {
    if (this.#session === null) this.#shown = shown;
    else this.#send({ type: "show", shown });
  }

  /** What the webview posted. */
  receive(posted: unknown): void {
    const sealed = readWebviewMessage(posted);
    if (sealed === null) return;
    const { session, message } = sealed;
    if (message.type === "ready") this.#begin(session);
    else if (session === this.#session) this.#serve(message);
  }

  /** The document is gone. Everything that it asked for and followed ends. */
  end(): void {
    this.#session = null;
    for (const { end } of this.#asked.values()) end.abort();
    for (const stream of this.#followed.values()) stream.close();
    this.#asked = new Map();
    this.#followed = new Map();
  }

  #begin(session: string): void {
    // A document says it again until it is answered.
    if (session !== this.#session) this.end();
    this.#session = session;
    this.#send({
      type: "welcome",
      may_write: this.#editor.mayWrite(),
      memory: this.#editor.memory(),
      shown: this.#shown,
    });
    this.#shown = null;
  }

  #send(message: ExtensionMessage): void {
    if (this.#session !== null) this.#post({ svc: WEBVIEW_PROTOCOL, session: this.#session, message });
  }

  #serve(message: Exclude<WebviewMessage, { type: "ready" }>): void {
    switch (message.type) {
      case "call":
        this.#ask(message.id, (asked) => this.#call(message, asked));
        break;
      case "upload":
        this.#ask(message.id, (asked) => this.#upload(message, asked));
        break;
      case "blob":
        this.#ask(message.id, (asked) => this.#blob(message, asked));
        break;
      case "dropped":
        this.#ask(message.id, (asked) => this.#dropped(message, asked));
        break;
      case "save":
        this.#ask(message.id, (asked) => this.#save(message, asked));
        break;
      case "cancel":
        this.#asked.get(message.id)?.end.abort();
        this.#asked.delete(message.id);
        break;
      case "piece":
        this.#asked.get(message.id)?.incoming?.add(message.seq, message.data);
        break;
      case "taken":
        this.#asked.get(message.id)?.taken?.take(message.seq);
        break;
      case "follow":
        this.#follow(message);
        break;
      case "unfollow":
        this.#followed.get(message.id)?.close();
        this.#followed.delete(message.id);
        break;
      case "seen":
        this.#followed.get(message.id)?.seen(message.run, message.seq);
        break;
      case "terminal":
        // Looking at a terminal is allowed everywhere, typing isn't.
        if (this.#editor.mayWrite() || message.request["type"] === "ack")
          this.#followed.get(message.id)?.request(message.request as TerminalRequest);
        break;
      case "retry":
        this.#link.retry();
        break;
      case "open-link":
        this.#editor.openLink(message.url);
        break;
      case "open-browser":
        this.#editor.openInBrowser(message.query);
        break;
      case "open-reference":
        this.#editor.openReference(message.reference);
        break;
      case "title":
        this.#editor.setTitle(message.text);
        break;
      case "showing":
        this.#editor.showing(message.group_id);
        break;
      case "open-actor":
        this.#editor.openActor(message.group_id, message.actor_id);
        break;
      case "remember":
        this.#editor.remember(message.key, message.value);
        break;
    }
  }

  /** Runs a request, and answers it unless it was cancelled or its document is gone. */
  #ask(id: number, run: (asked: Asked) => Promise<unknown>): void {
    const session = this.#session;
    const list = this.#asked;
    if (list.has(id)) return;
    if (list.size >= requests) {
      this.#fail(id, new Refused("overloaded", "Too much is being done at the same time. Try again."));
      return;
    }
    const asked: Asked = { end: new AbortController() };
    list.set(id, asked);
    const isOpen = () => session === this.#session && list.get(id) === asked;
    run(asked).then(
      (result) => {
        if (isOpen()) this.#send({ type: "result", id, result });
        if (isOpen()) list.delete(id);
      },
      (error: unknown) => {
        if (isOpen()) this.#fail(id, error);
        if (isOpen()) list.delete(id);
      },
    );
  }

  #fail(id: number, error: unknown): void {
    this.#send({ type: "failed", id, ...failureOf(error) });
  }

  async #call({ name, input }: { name: string; input: Record<string, unknown> }, { end }: Asked) {
    const route = HTTP_ROUTES.get(name);
    if (route === undefined) throw new Refused("unknown_operation", `There is no operation ${name} here.`);
    if (route.method !== "GET" && !READING.has(name)) this.#checkTrust();
    return resultOf(await this.#link.call(name, input, { signal: end.signal }));
  }

  #checkTrust(): void {
    if (!this.#editor.mayWrite())
      throw new Refused(
        "untrusted_workspace",
        "This workspace isn’t trusted, so nothing can be sent or changed from here. Trust it first (Workspaces: Manage Workspace Trust).",
      );
  }

  async #upload(
    message: { id: number; group_id: string; name: string; mime_type: string; bytes: number },
    asked: Asked,
  ): Promise<unknown> {
    this.#checkTrust();
    const { id, group_id: groupId, name, mime_type: mimeType, bytes } = message;
    const { signal } = asked.end;
    asked.incoming = new IncomingFile(bytes, (seq) => this.#send({ type: "taken", id, seq }));
    signal.addEventListener("abort", () => asked.incoming?.fail(signal.reason));
    return resultOf(
      await this.#link.upload({ groupId, name, mimeType, bytes, chunks: asked.incoming }, signal),
    );
  }

  async #blob(message: { id: number; group_id: string; sha256: string }, asked: Asked): Promise<null> {
    const { signal } = asked.end;
    const chunks = await this.#link.blob(message.group_id, message.sha256, signal);
    await this.#sendPieces(message.id, chunks, asked);
    return null;
  }

  async #dropped({ id, uri }: { id: number; uri: string }, asked: Asked): Promise<{ name: string }> {
    this.#checkTrust();
    const { name, bytes } = await this.#editor.readDropped(uri);
    await this.#sendPieces(id, [bytes], asked);
    return { name };
  }

  #sendPieces(
    id: number,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    asked: Asked,
  ): Promise<void> {
    asked.taken = new Acknowledged();
    const send = (seq: number, data: Uint8Array<ArrayBuffer>) => this.#send({ type: "piece", id, seq, data });
    return sendPieces(chunks, send, asked.taken, asked.end.signal);
  }

  async #save(message: { group_id: string; sha256: string; name: string }, { end }: Asked): Promise<boolean> {
    const path = await this.#editor.chooseFile(message.name);
    if (path === null || end.signal.aborted) return false;
    const chunks = await this.#link.blob(message.group_id, message.sha256, end.signal);
    await this.#editor.writeFile(path, chunks);
    return true;
  }

  #follow({ id, run, channel }: WebviewMessage & { type: "follow" }): void {
    const before = this.#followed.get(id);
    if (before === undefined && this.#followed.size >= followed) return;
    before?.close();
    const stream = new FollowedStream(channel, this.#link, (deltas) => {
      if (this.#followed.get(id) !== stream) return;
      this.#send({
        type: "deltas",
        deltas: deltas.map(({ seq, delta }: { seq: number; delta: Delta }) => ({ id, run, seq, delta })),
      });
    });
    this.#followed.set(id, stream);
    stream.open(run);
  }
}

function resultOf<Result>(envelope: Envelope<Result>): Result {
  if (envelope.ok) return envelope.result;
  throw new RefusedByDaemon(envelope.error);
}

function failureOf(error: unknown): { code: string; message: string; details: Record<string, unknown> } {
  if (error instanceof RefusedByDaemon) {
    const { code, message, details } = error.body();
    return { code, message, details };
  }
  if (error instanceof Refused) return { code: error.code, message: error.message, details: {} };
  if (error instanceof DaemonUnreachable)
    return { code: "offline", message: "The daemon didn’t answer.", details: {} };
  return {
    code: "internal_error",
    message: error instanceof Error ? error.message : String(error),
    details: {},
  };
}
