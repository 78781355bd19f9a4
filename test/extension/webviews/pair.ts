/** A document's host and the relay that serves it, with what is posted between them. */
import { setImmediate as turn } from "node:timers/promises";
import type { Envelope } from "../../../client/client.ts";
import { type EditorPort, Relay } from "../../../extension/webviews/relay.ts";
import type { RelayedLink } from "../../../extension/webviews/relayed-link.ts";
import type { LedgerEvent } from "../../../shared/events.ts";
import type { Attachment } from "../../../shared/model.ts";
import type {
  ActivityListener,
  Connection,
  GroupsListener,
  LedgerListener,
  TerminalListener,
} from "../../../shared/stream-client/listeners.ts";
import type { TerminalRequest } from "../../../shared/terminal.ts";
import type { ExtensionMessage, Sealed } from "../../../shared/webview-protocol.ts";
import { VsCodeHost } from "../../../webview/hosts/vscode/vscode-host.ts";

export const GROUP = "g_0123456789ab";
export const SHA = "a".repeat(64);
export const eventId = (number: number): string => number.toString(16).padStart(32, "0");
export const ledgerEvent = (number: number): LedgerEvent =>
  ({
    v: 1,
    id: eventId(number),
    kind: "chat.message",
    data: { text: `message ${number}` },
  }) as unknown as LedgerEvent;

interface LedgerWatch {
  after: string | null;
  listener: LedgerListener;
  released: boolean;
}

/** A daemon that does what the test says. */
export class FakeLink implements RelayedLink {
  readonly calls: { name: string; input: unknown; signal: AbortSignal }[] = [];
  readonly ledgers: LedgerWatch[] = [];
  readonly groups: GroupsListener[] = [];
  readonly activities: ActivityListener[] = [];
  readonly terminals: { listener: TerminalListener; requests: TerminalRequest[]; closed: boolean }[] = [];
  readonly uploads: { name: string; bytes: Uint8Array }[] = [];
  connection: (connection: Connection) => void = () => {};
  released = 0;
  retries = 0;
  answer: (name: string, input: unknown) => Promise<Envelope<unknown>> = async () => ({
    ok: true,
    result: {},
  });
  file: Uint8Array[] = [];

  call(name: string, input: unknown, { signal }: { signal: AbortSignal }): Promise<Envelope<unknown>> {
    this.calls.push({ name, input, signal });
    return this.answer(name, input);
  }

  async upload(
    file: { name: string; mimeType: string; bytes: number; chunks: AsyncIterable<Uint8Array> },
    signal: AbortSignal,
  ): Promise<Envelope<Attachment>> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of file.chunks) {
      signal.throwIfAborted();
      chunks.push(chunk);
      // The disk is slower than the document.
      await turn();
    }
    const bytes = Buffer.concat(chunks);
    this.uploads.push({ name: file.name, bytes });
    return {
      ok: true,
      result: {
        sha256: SHA,
        bytes: bytes.length,
        name: file.name,
        mime_type: file.mimeType,
        path: `state/blobs/${SHA}`,
      },
    };
  }

  async blob(): Promise<AsyncIterable<Uint8Array>> {
    const { file } = this;
    return (async function* () {
      yield* file;
    })();
  }

  watchConnection(listener: (connection: Connection) => void): () => void {
    this.connection = listener;
    listener({ state: "online", heard: 1 });
    return () => (this.released += 1);
  }

  watchGroups(listener: GroupsListener): () => void {
    this.groups.push(listener);
    return () => (this.released += 1);
  }

  watchLedger(_groupId: string, after: string | null, listener: LedgerListener): () => void {
    const watch = { after, listener, released: false };
    this.ledgers.push(watch);
    return () => (watch.released = true);
  }

  watchActivity(_groupId: string, listener: ActivityListener): () => void {
    this.activities.push(listener);
    return () => (this.released += 1);
  }

  terminal(_groupId: string, _actorId: string, listener: TerminalListener) {
    const terminal = { listener, requests: [] as TerminalRequest[], closed: false };
    this.terminals.push(terminal);
    return {
      send: (request: TerminalRequest) => void terminal.requests.push(request),
      close: () => (terminal.closed = true),
    };
  }

  retry(): void {
    this.retries += 1;
  }
}

export class Pair {
  readonly link = new FakeLink();
  readonly editor: EditorPort & { log: unknown[] };
  readonly relay: Relay;
  readonly host: VsCodeHost;
  /** What the extension host posted. */
  readonly posted: Sealed<ExtensionMessage>[] = [];
  /** What the document posted. */
  readonly asked: unknown[] = [];
  /** Changes what reaches the document; null drops it. */
  toDocument: (message: Sealed<ExtensionMessage>) => Sealed<ExtensionMessage> | null = (message) => message;
  state: unknown;
  mayWrite = true;
  memory: Record<string, string> = {};
  shown: unknown[] = [];

  constructor(state?: unknown) {
    this.state = state;
    const log: unknown[] = [];
    this.editor = {
      log,
      mayWrite: () => this.mayWrite,
      memory: () => this.memory,
      remember: (key, value) => {
        if (value === null) delete this.memory[key];
        else this.memory[key] = value;
      },
      readDropped: async (uri) => ({ name: uri, bytes: new Uint8Array([1, 2, 3]) }),
      chooseFile: async (name) => `/chosen/${name}`,
      writeFile: async (path, chunks) => {
        const parts: Uint8Array[] = [];
        for await (const chunk of chunks) parts.push(chunk);
        log.push(["write", path, Buffer.concat(parts).toString("utf8")]);
      },
      openLink: (url) => log.push(["link", url]),
      openInBrowser: (query) => log.push(["browser", query]),
      openReference: (reference) => log.push(["reference", reference]),
      setTitle: (title) => log.push(["title", title]),
      showing: (groupId) => log.push(["showing", groupId]),
      openActor: (groupId, actorId) => log.push(["actor", groupId, actorId]),
    };
    this.relay = new Relay(
      (message) => {
        this.posted.push(message);
        const passed = this.toDocument(message);
        // As between processes: a copy, and later.
        if (passed !== null)
          setImmediate((copy: unknown) => this.host.receive(copy), structuredClone(passed));
      },
      this.link,
      this.editor,
    );
    this.host = new VsCodeHost(
      {
        postMessage: (message) => {
          this.asked.push(message);
          setImmediate((copy: unknown) => this.relay.receive(copy), structuredClone(message));
        },
        getState: () => this.state,
        setState: (next) => (this.state = structuredClone(next)),
      },
      (shown) => this.shown.push(shown),
    );
  }

  static async opened(state?: unknown): Promise<Pair> {
    const pair = new Pair(state);
    await pair.host.open();
    return pair;
  }

  get session(): string {
    return this.posted[0]!.session;
  }

  /** A message as the open document would post it. */
  sealed(message: unknown): unknown {
    return { svc: 1, session: this.session, message };
  }
}
