/** Waiting for what other events bring about. */

/** Turns of the event loop before it waits by time: what needs no time is there by then. */
const QUICK_TURNS = 2000;
const PAUSE_MS = 5;

type Condition<Value> = () => Value | Promise<Value>;

/**
 * Waits until `condition` gives something but null, undefined and false, and says what was awaited
 * when time is up.
 */
export async function until<Value>(condition: Condition<Value>): Promise<NonNullable<Value>>;
export async function until<Value>(
  what: string,
  condition: Condition<Value>,
  milliseconds?: number,
): Promise<NonNullable<Value>>;
export async function until<Value>(
  first: string | Condition<Value>,
  second?: Condition<Value>,
  milliseconds = 60_000,
): Promise<NonNullable<Value>> {
  const condition = typeof first === "string" ? second! : first;
  const deadline = performance.now() + milliseconds;
  for (let turn = 0; ; turn += 1) {
    const asked = condition();
    const value = await asked;
    if (value !== null && value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`waited ${milliseconds} ms in vain: ${String(first)}`);
    const isQuick = turn < QUICK_TURNS && !(asked instanceof Promise);
    await new Promise((resolve) => (isQuick ? setImmediate(resolve) : setTimeout(resolve, PAUSE_MS)));
  }
}
