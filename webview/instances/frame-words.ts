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

const WORDS: Readonly<Record<string, Words>> = {
  connect_unreachable: { title: "It can’t be reached", word: "offline since", since: true, action: "again" },
  connect_route_missing: { title: "No route to it is set", word: "no route", since: false, action: "again" },
  connect_host_overlap: {
    title: "Its hostname is taken",
    word: "same hostname",
    since: false,
    action: "tab",
  },
  connect_instance_unknown: { title: "It left the account", word: "gone", since: false, action: "again" },
  account_unavailable: {
    title: "The account isn’t confirmed",
    word: "not confirmed",
    since: false,
    action: "again",
  },
  frame_silent: { title: "This browser doesn’t show it", word: "not shown", since: false, action: "tab" },
  frame_local_network: {
    title: "This browser blocks the local network",
    word: "blocked",
    since: false,
    action: "tab",
  },
  frame_expired: { title: "The frame has expired", word: "expired", since: false, action: "again" },
  frame_moved: { title: "It was linked again or moved", word: "moved", since: false, action: "again" },
  frame_stranger: {
    title: "Another instance answers there",
    word: "stranger",
    since: false,
    action: "again",
  },
  frame_unlisted: {
    title: "This page is older than the instance",
    word: "reload",
    since: false,
    action: "tab",
  },
  offline: {
    title: "This machine’s daemon doesn’t answer",
    word: "not shown",
    since: false,
    action: "again",
  },
};
const OTHER: Words = { title: "It isn’t shown", word: "not shown", since: false, action: "again" };

/** For the code of a problem. */
export function problemWord(code: string): Words {
  return WORDS[code] ?? OTHER;
}
