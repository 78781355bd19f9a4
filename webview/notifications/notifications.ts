/**
 * Notifications of a browser: what begins to wait is announced in one of the person's windows. The
 * folder's face. Nothing is asked of the browser, and no service worker is made, before the person
 * wants it.
 */
import type { Address } from "../../shared/address.ts";
import { LIMITS } from "../../shared/limits.ts";
import { Arrivals, notificationWords } from "../../shared/needs-you.ts";
import type { NeedsYouItem } from "../../shared/operations/notifications.ts";
import type { NeedsYouListener, Release } from "../../shared/stream-client/listeners.ts";
import { Store } from "../controls/store.ts";
import { type Host, HostError } from "../hosts/host.ts";
import { alone } from "./alone.ts";
import { chime } from "./chime.ts";
import { openedAddress, placeOf } from "./place.ts";
import { type NotificationSettings, readSettings } from "./settings.ts";

/** The host of a browser's page. */
export interface NotifyingHost extends Pick<Host, "call" | "remember" | "recall"> {
  watchNeedsYou(listener: NeedsYouListener): Release;
}

/** Whether the browser shows notifications; `insecure` pages and old browsers can't ask. */
export type Permission = NotificationPermission | "insecure" | "unsupported";

const WORKER = "/service-worker.js";
const MEMORY = "notifications";

export class Notifications extends Store {
  readonly #host: NotifyingHost;
  readonly #arrivals = new Arrivals();
  readonly #release: Release;
  readonly #life = new AbortController();
  #settings: NotificationSettings;
  /** The Group in view, whose rows already show what waits in it. */
  inView: string | null = null;

  /** `open` is called after a click on a notification. */
  constructor(host: NotifyingHost, open: (address: Address) => void) {
    super();
    this.#host = host;
    this.#settings = readSettings(host.recall(MEMORY));
    this.#release = host.watchNeedsYou((items) => this.#take(items));
    const { signal } = this.#life;
    const heard = ({ data }: MessageEvent<unknown>): void => {
      const address = openedAddress(data);
      if (address !== null) open(address);
    };
    // Absent in pages that aren't secure.
    (navigator.serviceWorker as ServiceWorkerContainer | undefined)?.addEventListener("message", heard, {
      signal,
    });
    // Another window of this browser has changed them.
    addEventListener(
      "storage",
      () => {
        this.#settings = readSettings(host.recall(MEMORY));
        this.changed();
      },
      { signal },
    );
  }

  close(): void {
    this.#release();
    this.#life.abort();
  }

  get settings(): NotificationSettings {
    return this.#settings;
  }

  get permission(): Permission {
    if (!globalThis.isSecureContext) return "insecure";
    return "Notification" in globalThis && "serviceWorker" in navigator
      ? Notification.permission
      : "unsupported";
  }

  /** Whether this browser can be told while no page is open. */
  get canPush(): boolean {
    return this.permission !== "insecure" && this.permission !== "unsupported" && "PushManager" in globalThis;
  }

  set(change: Partial<NotificationSettings>): void {
    this.#settings = { ...this.#settings, ...change };
    this.#host.remember(MEMORY, this.#settings);
    this.changed();
  }

  /** Asks the browser, after a gesture of the person. */
  async allow(): Promise<boolean> {
    const { permission } = this;
    if (permission === "default") await Notification.requestPermission();
    const isAllowed = this.permission === "granted";
    this.set({ shows: isAllowed });
    if (isAllowed) await this.#worker();
    this.changed();
    return isAllowed;
  }

  /** What the person would see and hear now. Throws if the browser refuses. */
  async test(): Promise<void> {
    const { shows, sounds } = this.#settings;
    if (shows && this.permission === "granted") {
      const body = "This is how you are told what waits for you.";
      const worker = await this.#worker();
      await alone(() => worker.showNotification("svc", { body, tag: "test", silent: sounds }));
    }
    if (sounds) await chime();
  }

  /** Has the browser's push service tell it, also while no page is open. Throws HostError. */
  async subscribePush(): Promise<void> {
    if (this.permission !== "granted" && !(await this.allow()))
      throw new HostError("denied", "The browser doesn’t allow notifications for this page.");
    const { public_key: key } = await this.#host.call("push_prepare", {});
    const { pushManager } = await this.#worker();
    let subscription = await pushManager.getSubscription();
    if (subscription !== null && keyOf(subscription) !== key) {
      await subscription.unsubscribe();
      subscription = null;
    }
    try {
      subscription ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    } catch {
      throw new HostError(
        "unreachable",
        "The browser couldn’t subscribe at its push service. Private windows and offline machines can’t.",
      );
    }
    await this.#tell(subscription);
  }

  /** After a change of the kinds, if this browser has a subscription. Throws HostError. */
  async updatePush(): Promise<void> {
    if (this.permission !== "granted" || !this.canPush) return;
    const subscription = await (await this.#worker()).pushManager.getSubscription();
    if (subscription !== null) await this.#tell(subscription);
  }

  /** Ends this browser's subscription at its push service. */
  async unsubscribePush(): Promise<void> {
    if (!this.canPush || this.permission !== "granted") return;
    await (await (await this.#worker()).pushManager.getSubscription())?.unsubscribe();
  }

  async #tell(subscription: PushSubscription): Promise<void> {
    const { endpoint = "", keys = {} } = subscription.toJSON();
    const { p256dh = "", auth = "" } = keys;
    await this.#host.call("push_subscribe", {
      endpoint,
      keys: { p256dh, auth },
      kinds: [...this.#settings.kinds],
    });
  }

  #take(items: readonly NeedsYouItem[]): void {
    const { entered, left } = this.#arrivals.take(items);
    if (left.length > 0) void this.#withdraw(left).catch(() => {});
    const { shows, sounds, kinds } = this.#settings;
    if (!sounds && (!shows || this.permission !== "granted")) return;
    // Without the daemon or the browser's leave there is nothing to announce with.
    for (const item of entered) if (kinds.includes(item.kind)) this.#announce(item).catch(() => {});
  }

  async #announce(item: NeedsYouItem): Promise<void> {
    // The window that has the focus goes first.
    if (!document.hasFocus()) await pause(LIMITS.notifications.othersMilliseconds);
    if (!this.#arrivals.has(item.key)) return;
    const { claimed } = await this.#host.call("notification_claim", { key: item.key });
    if (!claimed || !this.#arrivals.has(item.key)) return;
    const { shows, sounds } = this.#settings;
    if (sounds) void chime();
    const isSeen = document.hasFocus() && this.inView === item.group_id;
    if (!shows || this.permission !== "granted" || isSeen) return;
    const { title, body } = notificationWords(item);
    const data = placeOf(item);
    const worker = await this.#worker();
    await alone(() => worker.showNotification(title, { body, tag: item.key, data, silent: sounds }));
    if (!this.#arrivals.has(item.key)) await this.#withdraw([item.key]);
  }

  /** What no longer waits isn't shown any longer, whichever window or push service showed it. */
  async #withdraw(keys: readonly string[]): Promise<void> {
    if (this.permission !== "granted") return;
    const registration = await navigator.serviceWorker.getRegistration("/");
    for (const tag of keys)
      for (const notification of (await alone(() => registration?.getNotifications({ tag }))) ?? [])
        notification.close();
  }

  async #worker(): Promise<ServiceWorkerRegistration> {
    await navigator.serviceWorker.register(WORKER, { updateViaCache: "none" });
    return navigator.serviceWorker.ready;
  }
}

function keyOf({ options }: PushSubscription): string {
  const bytes = new Uint8Array(options.applicationServerKey ?? new ArrayBuffer(0));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
