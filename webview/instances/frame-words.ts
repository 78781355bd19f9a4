/** What a person reads about a frame that isn't shown, and the one thing to do about it. */

export interface FrameProblem {
  /** Of the daemon's errors, or of this page's own. */
  code: string;
  message: string;
}

interface Words {
  title: string;
  /** In the list. */
  word: string;
  /** The time when it began helps. */
  since: boolean;
  action: "again" | "tab";
}

/** It may work the next time. */
const again = (title: string, word: string, since = false): Words => ({
  title,
  word,
  since,
  action: "again",
});
/** A tab of its own works where the frame doesn't. */
const tab = (title: string, word: string): Words => ({ title, word, since: false, action: "tab" });

const WORDS: Readonly<Record<string, Words>> = {
  connect_unreachable: again("It can’t be reached", "offline since", true),
  connect_route_missing: again("No route to it is set", "no route"),
  connect_host_overlap: tab("Its hostname is taken", "same hostname"),
  connect_instance_unknown: again("It left the account", "gone"),
  account_unavailable: again("The account isn’t confirmed", "not confirmed"),
  frame_silent: tab("This browser doesn’t show it", "not shown"),
  frame_local_network: tab("This browser blocks the local network", "blocked"),
  frame_expired: again("The frame has expired", "expired"),
  frame_moved: again("It was linked again or moved", "moved"),
  frame_stranger: again("Another instance answers there", "stranger"),
  frame_unlisted: tab("This page is older than the instance", "reload"),
  offline: again("This machine’s daemon doesn’t answer", "not shown"),
};
const OTHER = again("It isn’t shown", "not shown");

/** For the code of a problem. */
export function problemWord(code: string): Words {
  return WORDS[code] ?? OTHER;
}
