/**
 * The service worker: shows what a push service brings, and leads a click to the right place. It
 * has no `fetch` handler and no cache: the page's requests and answers never pass through it.
 */
import { notificationWords } from "../../shared/needs-you.ts";
import type { NeedsYouItem } from "../../shared/operations/notifications.ts";
import { alone } from "./alone.ts";
import { openMessage, placeOf } from "./place.ts";

/** What this needs of a service worker's types, which can't stand beside those of pages. */
interface Waits extends Event {
  waitUntil(done: Promise<unknown>): void;
}
interface Push extends Waits {
  readonly data: { json(): unknown } | null;
}
interface Click extends Waits {
  readonly notification: Notification;
}
interface Page {
  readonly url: string;
  readonly focused: boolean;
  readonly visibilityState: string;
  focus(): Promise<unknown>;
  postMessage(message: unknown): void;
}
interface Scope {
  readonly registration: ServiceWorkerRegistration;
  readonly clients: {
    matchAll(options: { type: "window"; includeUncontrolled: true }): Promise<readonly Page[]>;
    openWindow(url: string): Promise<unknown>;
  };
  skipWaiting(): Promise<void>;
  addEventListener(name: "install", listener: (event: Waits) => void): void;
  addEventListener(name: "push", listener: (event: Push) => void): void;
  addEventListener(name: "notificationclick", listener: (event: Click) => void): void;
}

type Pushed = Omit<NeedsYouItem, "reason" | "since"> | { kind: "test" };

const scope = self as unknown as Scope;

scope.addEventListener("install", (event) => event.waitUntil(scope.skipWaiting()));
scope.addEventListener("push", (event) => event.waitUntil(show(event.data)));
scope.addEventListener("notificationclick", (event) => event.waitUntil(open(event.notification)));

/** Browsers end the subscription of a worker that shows nothing. */
async function show(data: Push["data"]): Promise<void> {
  const tell = (title: string, options: NotificationOptions) =>
    alone(() => scope.registration.showNotification(title, options));
  try {
    const pushed = data?.json() as Pushed;
    if (pushed.kind === "test") {
      await tell("svc", { body: "Web Push reaches this browser.", tag: "test" });
      return;
    }
    const { title, body } = notificationWords({ ...pushed, reason: "" });
    // The page may have shown it already: the same tag doesn't show it twice.
    await tell(title, { body, tag: pushed.key, data: placeOf(pushed) });
  } catch {
    await tell("svc", { body: "Something waits for you.", tag: "svc" });
  }
}

/** In a page that is open, if any. */
async function open(notification: Notification): Promise<void> {
  notification.close();
  const data: unknown = notification.data;
  const query = typeof data === "string" ? data : "";
  const pages = await scope.clients.matchAll({ type: "window", includeUncontrolled: true });
  const workbenches = pages.filter(({ url }) => /^\/(?:ui(?:\/.*)?)?$/u.test(new URL(url).pathname));
  const page =
    workbenches.find(({ focused }) => focused) ??
    workbenches.find(({ visibilityState }) => visibilityState === "visible") ??
    workbenches[0];
  if (page === undefined) {
    await scope.clients.openWindow(`/${query}`);
    return;
  }
  if (query !== "") page.postMessage(openMessage(query));
  await page.focus();
}
