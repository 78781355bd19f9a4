/**
 * The page around a Workbench in a frame (docs/protocol.md#workbench-frames): what it is told, and
 * what it asks. It is another instance's page: nothing but navigation goes there.
 */
import {
  ENTRY_MESSAGES,
  type FrameGroup,
  FramePage,
  type FrameProof,
  type TargetMessage,
} from "../../shared/frame-protocol.ts";
import { LIMITS } from "../../shared/limits.ts";
import { API_PREFIX, FRAME_META } from "../../shared/names.ts";
import { type FramePeer, hearPeer, tellPeer } from "./frame-peer.ts";
import type { Requests } from "./http/requests.ts";

/** Where the page around it wants to go. */
export interface Selection {
  groupId: string;
  /** The dialog of the Group's connections, too. */
  connections: boolean;
}

/** What the daemon wrote into this document if it is one for a frame; else null. */
function readFramePage(): FramePage | null {
  const text = document.querySelector<HTMLMetaElement>(`meta[name="${FRAME_META}"]`)?.content;
  if (text === undefined) return null;
  // The proof may be in the address. It has done its work.
  if (new URLSearchParams(location.search).has("proof")) history.replaceState(null, "", location.pathname);
  return FramePage.parse(JSON.parse(text));
}

const PATH = `${API_PREFIX}/connect/frame`;

/** The page around this document if it is one for a frame; else null. */
export function frameEntry(requests: Requests): FrameEntry | null {
  const page = readFramePage();
  if (page === null) return null;
  requests.frameId = page.frame_id;
  return new FrameEntry(page, requests);
}

export class FrameEntry {
  readonly #page: FramePage;
  readonly #requests: Requests;
  readonly #peer: FramePeer;
  /** Of the last selection that was heard; 0 before any. */
  #revision = 0;
  #wanted: Selection | null = null;
  /** Goes there; false while that can't be known yet. Null while nobody is admitted. */
  #go: ((selection: Selection) => boolean) | null = null;
  #renewed: () => void = () => {};
  #proof: FrameProof | null = null;
  #isRenewing = false;
  #timer: ReturnType<typeof setInterval> | null = null;
  #told = new Map<TargetMessage["type"], string>();
  #release: () => void = () => {};
  #ended = false;
  /** Called when the frame has to be opened again. */
  expired: () => void = () => {};

  constructor(page: FramePage, requests: Requests) {
    this.#page = page;
    this.#requests = requests;
    this.#peer = {
      frameId: page.frame_id,
      origin: page.parent_origin,
      window: () => (parent === self ? null : parent),
    };
  }

  /** The host of the page around it, for people. */
  get host(): string {
    return new URL(this.#page.parent_origin).host;
  }

  /** Says that the page works, and listens from now on. */
  start(): void {
    this.#release = hearPeer(this.#peer, ENTRY_MESSAGES, (message) => {
      if (message.type === "renew") {
        this.#proof = message.proof;
        void this.#renew();
      } else if (message.revision > this.#revision) {
        this.#revision = message.revision;
        this.#wanted = { groupId: message.group_id, connections: message.action === "connections" };
        this.settle();
      }
    });
    const { instance_id, device_id } = this.#page;
    tellPeer(this.#peer, { type: "ready", instance_id, device_id });
  }

  /**
   * An administrator is signed in: `go` is called with what was and will be selected, until
   * `locked`, and `renewed` after each new proof. The access is checked every 15 seconds from now
   * on.
   */
  admitted(go: (selection: Selection) => boolean, renewed: () => void): void {
    this.#go = go;
    this.#renewed = renewed;
    this.#told.clear();
    this.#timer ??= setInterval(() => void this.#check(), LIMITS.connect.frameCheckSeconds * 1000);
    this.settle();
  }

  /** Tries what is selected again, because more is known now. */
  settle(): void {
    const wanted = this.#wanted;
    if (wanted !== null && this.#go?.(wanted) === true && this.#wanted === wanted) this.#wanted = null;
  }

  /** Nobody is signed in who may do everything. */
  locked(): void {
    this.#leave();
    this.#tell({ type: "locked" });
  }

  groups(groups: FrameGroup[]): void {
    this.#tellOnce({ type: "groups", groups });
  }

  selected(groupId: string): void {
    this.#tellOnce({ type: "selected", group_id: groupId, revision: this.#revision });
  }

  dirty(dirty: boolean): void {
    this.#tellOnce({ type: "workspace_dirty", dirty });
  }

  /** The person wants the list of Groups. */
  sidebar(): void {
    this.#tell({ type: "sidebar" });
  }

  /** The last word: the frame has ended. */
  end(): void {
    if (this.#ended) return;
    this.#leave();
    this.#tell({ type: "expired" });
    this.#ended = true;
    this.#release();
    this.expired();
  }

  #leave(): void {
    this.#go = null;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #tell(message: TargetMessage): void {
    if (!this.#ended) tellPeer(this.#peer, message);
  }

  /** Only what differs from what was said last, and only while somebody is admitted. */
  #tellOnce(message: TargetMessage): void {
    const text = JSON.stringify(message);
    if (this.#go === null || this.#told.get(message.type) === text) return;
    this.#told.set(message.type, text);
    this.#tell(message);
  }

  /** A session that has ended, and a frame, are reported where the answer arrives. */
  async #check(): Promise<void> {
    try {
      await this.#requests.json("GET", `${PATH}?frame_id=${this.#page.frame_id}`);
    } catch {
      // Offline: the Workbench says so.
    }
  }

  /** One at a time, the newest proof next. */
  async #renew(): Promise<void> {
    if (this.#isRenewing) return;
    this.#isRenewing = true;
    while (this.#proof !== null) {
      const body = JSON.stringify(this.#proof);
      this.#proof = null;
      try {
        await this.#requests.json("POST", PATH, body);
      } catch {
        // The next one may do. If none does, the frame ends.
      }
    }
    this.#isRenewing = false;
    if (this.#go !== null) this.#renewed();
  }
}
