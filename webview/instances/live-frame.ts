/**
 * The Workbench of another instance in a frame of this page (docs/protocol.md#workbench-frames):
 * its proof, the handshake, the renewals, and what crosses between the two pages, which is only
 * navigation.
 */
import { type FrameGroup, TARGET_MESSAGES, type TargetMessage } from "../../shared/frame-protocol.ts";
import { LIMITS } from "../../shared/limits.ts";
import { FRAME_PATH } from "../../shared/names.ts";
import { Store } from "../controls/store.ts";
import { type FramePeer, hearPeer, tellPeer } from "../hosts/frame-peer.ts";
import { HostError } from "../hosts/host.ts";
import { browserRefusal } from "./browser-refusal.ts";
import type { FrameProblem } from "./frame-words.ts";

/** What `POST /api/v1/connect/open` answers. */
export interface Opened {
  origin: string;
  proof: unknown;
}

/** An instance that can be framed. Another device or origin is another frame. */
export interface FrameTarget {
  readonly instance_id: string;
  readonly device_id: string;
  /** Empty when no route to it is set, which the daemon then says. */
  readonly origin: string;
  readonly name: string;
}

export interface FrameParts {
  target: FrameTarget;
  /** Asks this instance's daemon for a proof. Throws HostError. */
  open(instanceId: string, frameId: string, signal: AbortSignal): Promise<Opened>;
  /** The person there asked for the list of Groups. */
  sidebar(): void;
}

/**
 * - `opening`: until the other page says that it works.
 * - `shown`: it works, and hasn't said yet whether somebody is signed in.
 * - `locked`: nobody is signed in there who may do everything; the frame has the sign-in.
 * - `live`: it has told its Groups.
 * - `failed`: with what is wrong; the frame is gone.
 */
export type FramePhase = "opening" | "shown" | "locked" | "live" | "failed";

/** What the target's page needs to work, and no more. Links in it open in tabs of their own. */
const SANDBOX =
  "allow-scripts allow-same-origin allow-forms allow-downloads allow-popups allow-popups-to-escape-sandbox";

const { frameHandshakeSeconds, frameRenewSeconds, frameSeconds } = LIMITS.connect;

export class LiveFrame extends Store {
  readonly id = crypto.randomUUID();
  /** Stays the same for the life of the frame: a new one would lose what is shown. */
  readonly element = document.createElement("iframe");
  readonly target: FrameTarget;
  phase: FramePhase = "opening";
  problem: FrameProblem | null = null;
  /** Null until they are told, and while it is locked. */
  groups: readonly FrameGroup[] | null = null;
  groupId: string | null = null;
  /** Something would be lost with the page. */
  dirty = false;
  readonly #parts: FrameParts;
  readonly #peer: FramePeer;
  readonly #ended = new AbortController();
  #isStarted = false;
  #revision = 0;
  #wanted: { groupId: string; connections: boolean } | null = null;
  #handshake: ReturnType<typeof setTimeout> | null = null;
  /** When the newest proof was asked for, in milliseconds. It ends like that proof. */
  #provenAt = 0;

  constructor(parts: FrameParts) {
    super();
    this.#parts = parts;
    this.target = parts.target;
    const { origin } = parts.target;
    const { element } = this;
    element.name = `svc-${this.id}`;
    element.setAttribute("sandbox", SANDBOX);
    element.allow = `clipboard-write ${origin}; fullscreen ${origin}`;
    this.#peer = { frameId: this.id, origin, window: () => element.contentWindow };
  }

  /**
   * Asks for the proof and sends it into the frame, which must be in the document by then. Only the
   * first call counts: a second page in the frame would end what the person does in the first.
   */
  async start(): Promise<void> {
    if (this.#isStarted) return;
    this.#isStarted = true;
    const { signal } = this.#ended;
    try {
      const opened = await this.#prove();
      if (signal.aborted) return;
      const release = hearPeer(this.#peer, TARGET_MESSAGES, (message) => this.#hear(message));
      signal.addEventListener("abort", release);
      document.addEventListener("securitypolicyviolation", (event) => this.#onViolation(event), { signal });
      this.#handshake = setTimeout(() => void this.#silent(), frameHandshakeSeconds * 1000);
      const renewing = setInterval(() => void this.#renew(), frameRenewSeconds * 1000);
      signal.addEventListener("abort", () => {
        clearInterval(renewing);
        if (this.#handshake !== null) clearTimeout(this.#handshake);
      });
      this.#submit(opened);
    } catch (error) {
      if (!signal.aborted) this.#fail(problemOf(error));
    }
  }

  /** Goes to a Group there. `connections` opens its dialog of connections. */
  select(groupId: string, connections = false): void {
    this.#revision += 1;
    this.groupId = groupId;
    this.#wanted = { groupId, connections };
    if (this.phase === "live") {
      this.#tellWanted();
      // The keyboard goes where the dialog opens.
      if (connections) this.element.focus();
    }
    this.changed();
  }

  /** Ends it: nothing is heard or sent any more. */
  close(): void {
    this.#ended.abort();
    this.element.remove();
  }

  /** Ends it with what is wrong. */
  end(problem: FrameProblem): void {
    if (!this.#ended.signal.aborted) this.#fail(problem);
  }

  async #ask(): Promise<Opened> {
    const { target } = this;
    const opened = await this.#parts.open(target.instance_id, this.id, this.#ended.signal);
    if (opened.origin !== target.origin)
      throw new HostError("frame_moved", "The instance is reached elsewhere by now.");
    return opened;
  }

  /** A form keeps the proof out of every address. */
  #submit({ origin, proof }: Opened): void {
    const form = document.createElement("form");
    form.method = "post";
    form.action = origin + FRAME_PATH;
    form.target = this.element.name;
    form.hidden = true;
    const field = document.createElement("input");
    field.name = "proof";
    field.value = base64Url(JSON.stringify(proof));
    form.append(field);
    document.body.append(form);
    form.submit();
    form.remove();
  }

  async #prove(): Promise<Opened> {
    const asked = performance.now();
    const opened = await this.#ask();
    this.#provenAt = asked;
    return opened;
  }

  /** A fresh proof for the same frame. One that fails is followed by the next, or by its expiry. */
  async #renew(): Promise<void> {
    if (this.phase === "opening") return;
    try {
      const { proof } = await this.#prove();
      if (!this.#ended.signal.aborted)
        tellPeer(this.#peer, { type: "renew", proof } as Parameters<typeof tellPeer>[1]);
    } catch (error) {
      const problem = problemOf(error);
      const hasExpired = performance.now() >= this.#provenAt + frameSeconds * 1000;
      if (problem.code === "frame_moved" || hasExpired) this.end(problem);
    }
  }

  #hear(message: TargetMessage): void {
    if (message.type === "ready") return this.#ready(message);
    // Nothing counts before the page has said who it is.
    if (this.phase === "opening") return;
    switch (message.type) {
      case "groups":
        this.groups = message.groups;
        this.phase = "live";
        if (this.#wanted !== null) this.#tellWanted();
        break;
      case "selected":
        // What follows an earlier selection is no longer where the person went.
        if (message.revision !== this.#revision) return;
        this.groupId = message.group_id;
        break;
      case "locked":
        this.groups = null;
        this.dirty = false;
        this.phase = "locked";
        break;
      case "expired":
        return this.#fail({ code: "frame_expired", message: "The frame has expired." });
      case "workspace_dirty":
        this.dirty = message.dirty;
        break;
      case "sidebar":
        return this.#parts.sidebar();
    }
    this.changed();
  }

  #ready({ instance_id: instanceId, device_id: deviceId }: Extract<TargetMessage, { type: "ready" }>): void {
    const { target } = this;
    if (instanceId !== target.instance_id || deviceId !== target.device_id) {
      return this.#fail({ code: "frame_stranger", message: "Another instance answers in the frame." });
    }
    if (this.#handshake !== null) clearTimeout(this.#handshake);
    this.#handshake = null;
    if (this.phase === "opening") this.phase = "shown";
    this.changed();
  }

  #tellWanted(): void {
    const { groupId, connections } = this.#wanted!;
    this.#wanted = null;
    const action = connections ? { action: "connections" as const } : {};
    tellPeer(this.#peer, { type: "select", group_id: groupId, revision: this.#revision, ...action });
  }

  /** No page tells why a browser refused a frame: what can be known is asked. */
  async #silent(): Promise<void> {
    const problem = await browserRefusal(this.target.origin);
    // It may have shown after all meanwhile.
    if (this.phase === "opening") this.end(problem);
  }

  #onViolation({ blockedURI, effectiveDirective }: SecurityPolicyViolationEvent): void {
    const isOurs = ["form-action", "frame-src"].includes(effectiveDirective);
    if (!isOurs || !URL.canParse(blockedURI) || new URL(blockedURI).origin !== this.target.origin) return;
    const message = "This page was loaded before it knew the instance. Load it again.";
    this.#fail({ code: "frame_unlisted", message });
  }

  #fail(problem: FrameProblem): void {
    this.phase = "failed";
    this.problem = problem;
    this.groups = null;
    this.dirty = false;
    this.close();
    this.changed();
  }
}

function problemOf(error: unknown): FrameProblem {
  if (error instanceof HostError) return { code: error.code, message: error.message };
  return { code: "internal_error", message: error instanceof Error ? error.message : String(error) };
}

function base64Url(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCodePoint(byte)).join("");
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
