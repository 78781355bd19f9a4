/**
 * The keyboard map (docs/interface.md#keyboard). Ctrl/Cmd+Enter is the composer's own; arrows in
 * lists are roving.ts.
 */
interface KeyActions {
  /** To the previous (-1) or next (1) Group. */
  step: (by: -1 | 1) => void;
  /** Closes the topmost thing; false when there is none. */
  escape: () => boolean;
  search: () => void;
  reply: () => void;
  write: () => void;
  /** Shows what the slots show, or closes it. */
  presentations: () => void;
  unread: () => void;
  map: () => void;
  palette: () => void;
  oldest: () => void;
  newest: () => void;
}

/** Runs the key's command, unless a dialog is open or the focused control uses the key itself. */
export function handleKey(event: KeyboardEvent, actions: KeyActions): void {
  if (event.defaultPrevented || document.querySelector("dialog[open]") !== null) return;
  const plain = !event.ctrlKey && !event.metaKey;
  // With Caps Lock, letters are large.
  const key = event.key.length === 1 && !event.shiftKey ? event.key.toLowerCase() : event.key;
  if (event.altKey && plain && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
    event.preventDefault();
    actions.step(event.key === "ArrowUp" ? -1 : 1);
    return;
  }
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && key === "k") {
    if (event.target instanceof Element && event.target.closest("svc-terminal") !== null) return;
    event.preventDefault();
    actions.palette();
    return;
  }
  if (event.key === "Escape") {
    if (actions.escape()) event.preventDefault();
    return;
  }
  if (!plain || event.altKey || isTyping(event.target)) return;
  const keys: Record<string, () => void> = {
    "/": actions.search,
    r: actions.reply,
    c: actions.write,
    p: actions.presentations,
    u: actions.unread,
    "?": actions.map,
    Home: actions.oldest,
    End: actions.newest,
  };
  const act = keys[key];
  if (act === undefined) return;
  event.preventDefault();
  act();
}

/** Keys belong to the text field they are typed into. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.matches("input, textarea, select, vscode-text-field, [contenteditable]")
  );
}
