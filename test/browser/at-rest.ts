/**
 * A page is judged when it is at rest: nothing in it is on its way. Everything that looks at
 * colours, sizes, places or pictures goes through here.
 */
import type { Frame, Locator, Page } from "playwright-core";

/** How long a page may take, on a machine that does other things as well. */
const PATIENCE_MS = 60_000;

/**
 * In the page: waits until nothing has changed for three frames in a row, and answers what still
 * moves when time is up. A frame also brings the listeners of a changed medium and the components
 * that follow it: they run before what was asked of the next frame. What turns for ever is a state.
 * As text: what the test's compiler adds to functions with a name isn't known there.
 */
const REST = `async (patience) => {
  const QUIET_FRAMES = 3;
  const LONGEST_FRAME_MS = 30_000;
  const deadline = performance.now() + patience;
  const changed = new Set();
  const watched = new Set();
  const observer = new MutationObserver((records) => {
    for (const { type, target, attributeName } of records)
      changed.add([type, (target.localName ? target : target.parentElement ?? target).nodeName.toLowerCase(), attributeName ?? ""].join(" ").trim());
  });
  const onScroll = ({ target }) => changed.add("scroll " + (target.className || target.nodeName));
  const watch = (root) => {
    const own = [...root.querySelectorAll("*")].filter(({ localName }) => localName.includes("-"));
    if (!watched.has(root)) {
      watched.add(root);
      observer.observe(root, { attributes: true, characterData: true, childList: true, subtree: true });
      root.addEventListener("scroll", onScroll, true);
    }
    return own.flatMap((element) => element.shadowRoot === null ? [element] : [element, ...watch(element.shadowRoot)]);
  };
  const isInView = (element) => {
    const { top, bottom, left, right } = element.getBoundingClientRect();
    return element.checkVisibility() && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  };
  const moving = () => [
    ...(document.readyState === "complete" ? [] : ["the document loads"]),
    ...(document.fonts.status === "loaded" ? [] : ["fonts load"]),
    ...watch(document).filter((element) => element.isUpdatePending === true).map(({ localName }) => localName + " updates"),
    ...document.getAnimations()
      .filter(({ effect, playState }) => playState === "running" && effect?.getComputedTiming().endTime < Infinity)
      .map(({ animationName, transitionProperty, effect }) => [animationName ?? transitionProperty, "of", effect.target?.className].join(" ")),
    ...[...document.querySelectorAll(".skeleton")].filter(isInView).map(() => "content is awaited"),
    ...[...document.images]
      .filter((image) => !image.complete && (image.loading !== "lazy" || isInView(image)))
      .map(({ currentSrc }) => "the picture " + currentSrc + " loads"),
  ];
  const frame = () => new Promise((resolve) => {
    const late = setTimeout(resolve, Math.max(LONGEST_FRAME_MS, deadline - performance.now()), false);
    requestAnimationFrame(() => (clearTimeout(late), resolve(true)));
  });
  try {
    for (let quiet = 0; quiet < QUIET_FRAMES; ) {
      moving();
      changed.clear();
      if (!(await frame())) return ["it draws no frames"];
      const found = [...moving(), ...changed];
      quiet = found.length === 0 ? quiet + 1 : 0;
      if (found.length > 0 && performance.now() > deadline) return found;
    }
    return [];
  } finally {
    observer.disconnect();
    for (const root of watched) root.removeEventListener("scroll", onScroll, true);
  }
}`;

/**
 * Waits until nothing in a page or frame is on its way. Throws with what still is when time is up.
 */
export async function atRest(view: Page | Frame, milliseconds = PATIENCE_MS): Promise<void> {
  const moving = await view.evaluate<string[]>(`(${REST})(${milliseconds})`);
  if (moving.length > 0) throw new Error(`${view.url()} doesn't come to rest: ${moving.join(", ")}`);
}

/** Changes what the system says, such as its colours, while the page is open, and waits for it. */
export async function wear(page: Page, media: Parameters<Page["emulateMedia"]>[0]): Promise<void> {
  await page.emulateMedia(media);
  await atRest(page);
}

/** Writes a picture of a page, with the frames that can be seen in it, or of an element. */
export async function takePicture(of: Page | Locator, path?: string): Promise<void> {
  const page = "page" in of ? of.page() : of;
  await atRest(page);
  for (const frame of page.frames())
    if (frame !== page.mainFrame() && (await isShown(frame))) await atRest(frame);
  await of.screenshot(path === undefined ? {} : { path });
}

/** What a frame that can't be seen shows isn't drawn. */
async function isShown(frame: Frame): Promise<boolean> {
  const element = await frame.frameElement();
  const box = await element.boundingBox();
  return box !== null && box.width > 0 && box.height > 0 && (await element.isVisible());
}

/** What `look` finds of an element when its page is at rest. */
export async function measure<Found, Argument>(
  locator: Locator,
  look: (element: HTMLElement, argument: Argument) => Found,
  argument?: Argument,
): Promise<Found> {
  await settled(locator);
  return locator.evaluate(look as never, argument);
}

/** Where an element is when its page is at rest. */
export async function boxOf(
  locator: Locator,
): Promise<{ x: number; y: number; width: number; height: number }> {
  await settled(locator);
  const box = await locator.boundingBox();
  if (box === null) throw new Error(`${String(locator)} can't be seen`);
  return box;
}

async function settled(locator: Locator): Promise<void> {
  const handle = await locator.elementHandle();
  await atRest((await handle.ownerFrame())!);
  await handle.dispose();
}
