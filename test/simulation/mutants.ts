/**
 * Mutants, to see whether the simulation finds them: one wrong step in the real modules, or a disk
 * that lies.
 */

import { Ledger } from "../../daemon/ledger/ledger.ts";
import { GroupChat } from "../../daemon/messaging/group-chat.ts";
import { Lease } from "../../daemon/peers/account/lease.ts";
import { Authorities } from "../../daemon/peers/authorities.ts";
import { Outbox } from "../../daemon/peers/outbox/outbox.ts";
import { Scheduler } from "../../daemon/peers/outbox/scheduler.ts";
import { PeerSender } from "../../daemon/peers/requests/peer-sender.ts";
import type { Files } from "../../platform/files.ts";
import { without } from "./crash.ts";

interface Mutant {
  what: string;
  /** A seed that shows it, as things are now. */
  seed: number;
  /** Puts it in; returns the way to take it out again. */
  apply?: () => () => void;
  files?: (files: Files) => Files;
  /** It shows only where there is an account service. */
  accounts?: boolean;
}

type Methods<Class> = {
  [Name in keyof Class as Class[Name] extends (...args: never[]) => unknown ? Name : never]: Class[Name];
};

/** Another method in place of a class's own, which it is made from. */
function replaced<Class, Name extends keyof Methods<Class> & keyof Class>(
  prototype: Class,
  name: Name,
  make: (own: Class[Name]) => Class[Name],
): () => void {
  const own = prototype[name];
  prototype[name] = make(own);
  return () => {
    prototype[name] = own;
  };
}

/** A disk that lies about some files. */
function lyingAt(part: string): (files: Files) => Files {
  return (files) => {
    const lying = without("files")(files);
    return new Proxy(files, {
      get(target, name: keyof Files) {
        if (name !== "open") return target[name].bind(target);
        return (...args: Parameters<Files["open"]>) =>
          (args[0].includes(part) ? lying : target).open(...args);
      },
    });
  };
}

export const MUTANTS: readonly Mutant[] = [
  { what: "a receipt before the target's event is on disk", seed: 6, files: lyingAt("/ledger/") },
  { what: "an acceptance before its record is on disk", seed: 6, files: lyingAt("/outbox/") },
  { what: "directories that aren't synced", seed: 15, files: without("directories") },
  {
    what: "a receiver that forgets what it has received",
    seed: 1,
    apply: () => replaced(Ledger.prototype, "byKey", () => () => undefined),
  },
  {
    what: "a request that may have arrived taken for one that wasn't sent",
    seed: 8,
    apply: () =>
      replaced(
        PeerSender.prototype,
        "ask",
        (own) =>
          async function (this: PeerSender, ...args) {
            const answer = await own.apply(this, args);
            return answer.kind === "unknown" ? { kind: "not_sent", reason: answer.reason } : answer;
          },
      ),
  },
  {
    what: "progress that a restart forgets",
    seed: 19,
    apply: () =>
      replaced(
        Outbox.prototype,
        "update",
        () =>
          async function (this: Outbox, entry, _record, change) {
            entry.progress = { ...entry.progress, ...change };
          },
      ),
  },
  {
    what: "a scheduler that falls asleep",
    seed: 1,
    apply() {
      const wakes = new WeakMap<Scheduler, number>();
      return replaced(
        Scheduler.prototype,
        "wake",
        (own) =>
          function (this: Scheduler) {
            const count = (wakes.get(this) ?? 0) + 1;
            wakes.set(this, count);
            if (count < 100) own.call(this);
          },
      );
    },
  },
  {
    what: "an answer of the account service that is used for ever",
    seed: 8,
    accounts: true,
    apply: () => replaced(Lease.prototype, "covers", () => () => true),
  },
  {
    what: "a Direct record that keeps no other connection off",
    seed: 1688,
    accounts: true,
    apply: () => replaced(Authorities.prototype, "pinOf", () => () => null),
  },
  {
    what: "a reset that isn't known to those who receive",
    seed: 2,
    accounts: true,
    apply() {
      const own = Object.getOwnPropertyDescriptor(GroupChat.prototype, "resetAt")!;
      Object.defineProperty(GroupChat.prototype, "resetAt", { ...own, get: () => null });
      return () => Object.defineProperty(GroupChat.prototype, "resetAt", own);
    },
  },
];
