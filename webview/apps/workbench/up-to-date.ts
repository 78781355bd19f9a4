/**
 * What is shown is read again when the person returns to the window, while the stream is broken,
 * and where no stream brings it.
 */
import type { AccountLink } from "../../connections/account-link.ts";
import { Polling } from "../../controls/polling.ts";
import type { Host } from "../../hosts/host.ts";
import type { GroupsStore } from "../../state/group-list.ts";
import type { Showing } from "./showing.ts";

/** How often a visible window without the focus checks for text that another one wrote. */
const LOOK_EVERY_MS = 3000;

interface Parts {
  host: Host;
  groups: GroupsStore;
  showing: Showing;
  /** Null for a person who may not see it. */
  account: AccountLink | null;
}

/** Goes on until `signal` aborts. */
export function keepUpToDate({ host, groups, showing, account }: Parts, signal: AbortSignal): void {
  const isVisible = () => document.visibilityState === "visible";
  const polling = new Polling(isVisible, () => {
    void groups.refresh();
    void showing.conversation?.group.refresh();
  });
  const returned = (): void => {
    polling.look();
    showing.conversation?.returned();
    void account?.refresh();
  };
  addEventListener("focus", returned, { signal });
  document.addEventListener("visibilitychange", returned, { signal });
  const releaseConnection = host.watchConnection((connection) => polling.connection(connection));
  const looking = setInterval(() => {
    if (isVisible() && !document.hasFocus()) void showing.conversation?.draft.refresh();
  }, LOOK_EVERY_MS);
  signal.addEventListener("abort", () => {
    releaseConnection();
    clearInterval(looking);
    polling.close();
  });
}
