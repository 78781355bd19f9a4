/** A demo begins when somebody watches it. */
import { setTimeout as delay } from "node:timers/promises";
import type { DemoSession, Home, Screen } from "./session.ts";

/** It begins without a viewer after this long. */
const PATIENCE_SECONDS = 60;
const LOOK_MS = 200;

interface Parts extends Pick<DemoSession, "ended"> {
  homes: readonly Home[];
  screen: Screen;
  seconds?: number;
}

/** Waits until every Home is watched; until Enter, Ctrl-C or the end of its patience if not. */
export async function awaitViewers({
  homes,
  screen,
  ended,
  seconds = PATIENCE_SECONDS,
}: Parts): Promise<void> {
  const [open, missing] =
    homes.length === 1
      ? ["the Workbench is open", "The Workbench isn't open yet."]
      : ["both Workbenches are open", "Not both Workbenches are open yet."];
  screen.line(`It begins when ${open}, when you press Enter, or after ${seconds} seconds.`);
  const waiting = new AbortController();
  const { signal } = waiting;
  const watched = Promise.all(homes.map((home) => untilWatched(home, signal)));
  try {
    const isLate = await Promise.race([
      watched.then(() => false),
      untilEnter(signal).then(() => false),
      ended.then(() => false),
      delay(seconds * 1000, true, { signal }),
    ]);
    if (isLate) screen.line(`${missing} It begins all the same.`);
  } finally {
    waiting.abort();
  }
  screen.line();
}

async function untilWatched(home: Home, signal: AbortSignal): Promise<void> {
  while (!(await home.isWatched(signal))) await delay(LOOK_MS, undefined, { signal });
}

/** Until a line is typed. In an input that ends or breaks, nobody types one. */
function untilEnter(signal: AbortSignal): Promise<void> {
  const { stdin } = process;
  stdin.on("error", () => undefined);
  return new Promise((resolve) => {
    const typed = (): void => resolve();
    stdin.once("data", typed);
    signal.addEventListener("abort", () => stdin.off("data", typed).pause(), { once: true });
  });
}
