/** One after the other, over all pages and the service worker of this origin. */

const LOCK = "notifications";

/**
 * Shows a notification, or asks which are shown. Chromium forgets one that it is still showing when
 * it is asked: that one stays on the screen, and nothing can withdraw it.
 */
export function alone<Result>(work: () => Promise<Result> | undefined): Promise<Result | undefined> {
  return navigator.locks.request(LOCK, work);
}
