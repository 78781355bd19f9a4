/** What proves something: tokens, codes, challenges. The store only ever gets digests. */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { linkSync, readFileSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../platform/random.ts";
import { SIGNING_DOMAINS } from "../shared/names.ts";
import { KEY_FILE, lostKey } from "./store/begun.ts";
import { StoreProblem } from "./store/problem.ts";

const KEY_BYTES = 32;
/** The most that its file has, with room for line ends. */
const FILE_BYTES = 1024;
/**
 * Consonants: a code never spells a word, and none of them is mistaken for a digit (RFC 8628, 6.1).
 */
const ALPHABET = "BCDFGHJKLMNPQRSTVWXZ";
const CODE_LETTERS = 8;
const CODE = new RegExp(`^[${ALPHABET}]{${CODE_LETTERS}}$`, "u");
const LABEL_LETTERS = "abcdefghijklmnopqrstuvwxyz234567";
const LABEL_LENGTH = 20;

/** A token of 256 random bits. */
export function newToken(random: Random): string {
  return Buffer.from(random.bytes(32)).toString("base64url");
}

/** How a token of 256 random bits is stored. */
export function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** Letters drawn evenly from an alphabet. */
function letters(random: Random, alphabet: string, count: number): string {
  const limit = 256 - (256 % alphabet.length);
  let text = "";
  while (text.length < count)
    for (const byte of random.bytes(count * 2))
      if (byte < limit && text.length < count) text += alphabet[byte % alphabet.length];
  return text;
}

/** The routing label of a new device. */
export function newLabel(random: Random): string {
  return letters(random, LABEL_LETTERS, LABEL_LENGTH);
}

/** A user code of 34.6 bits, without its hyphen. */
export function newUserCode(random: Random): string {
  return letters(random, ALPHABET, CODE_LETTERS);
}

/** A recovery code of 80 random bits, in groups of four. */
export function newRecoveryCode(random: Random): string {
  return letters(random, LABEL_LETTERS, 16).replaceAll(/(.{4})(?=.)/gu, "$1-");
}

/** A recovery code as typed, in one form. */
export function recoveryCodeOf(typed: string): string {
  return typed
    .toLowerCase()
    .replaceAll(/[^a-z2-7]/gu, "")
    .replaceAll(/(.{4})(?=.)/gu, "$1-");
}

/** A user code as people read it: `WDJB-MJHT`. */
export function shownUserCode(code: string): string {
  return `${code.slice(0, CODE_LETTERS / 2)}-${code.slice(CODE_LETTERS / 2)}`;
}

/** The code that was typed, in one form; null if no code looks like that. */
export function userCodeOf(typed: string): string | null {
  const code = typed.toUpperCase().replaceAll(/[^A-Z]/gu, "");
  return CODE.test(code) ? code : null;
}

/** The service's own key. Short codes can't be found from their digests without it. */
export class ServiceKey {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** The key of the folder, null if there is none. Throws StoreProblem if it isn't one. */
  static read(folder: string): ServiceKey | null {
    const path = join(folder, KEY_FILE);
    const status = statSync(path, { throwIfNoEntry: false });
    if (status === undefined) return null;
    const isKey = status.isFile() && status.size <= FILE_BYTES;
    const bytes = isKey ? Buffer.from(readFileSync(path, "utf8"), "base64") : null;
    if (bytes?.length !== KEY_BYTES) {
      throw new StoreProblem(`${path} isn't a key of the account service.`, {
        remedy: "Put back the one that was kept with the backup.",
      });
    }
    return new ServiceKey(bytes);
  }

  /**
   * Reads the key of the folder, or makes it. Throws StoreProblem if it isn't a key, or if it is
   * gone and `isNew` is false: then a store belongs to it.
   */
  static of(folder: string, random: Random, isNew: boolean): ServiceKey {
    const present = ServiceKey.read(folder);
    if (present !== null) return present;
    const path = join(folder, KEY_FILE);
    if (!isNew) throw lostKey(folder);
    const made = `${path}.${random.uuid()}`;
    const bytes = Buffer.from(random.bytes(KEY_BYTES));
    writeFileSync(made, bytes.toString("base64"), { mode: 0o600, flag: "wx", flush: true });
    // A process that starts at the same time reads a whole key, the same as this one.
    try {
      linkSync(made, path);
      return new ServiceKey(bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    } finally {
      unlinkSync(made);
    }
    const theirs = ServiceKey.read(folder);
    // A link that leads nowhere.
    if (theirs === null) throw lostKey(folder);
    return theirs;
  }

  /** How a user code or a recovery code is stored. */
  codeDigest(code: string): string {
    return createHmac("sha256", this.bytes)
      .update(`${SIGNING_DOMAINS.accountUserCode}\n${code}`)
      .digest("hex");
  }

  /** The token that every form of a browser carries. */
  csrfToken(browser: string): string {
    return createHmac("sha256", this.bytes)
      .update(`${SIGNING_DOMAINS.accountCsrf}\n${browser}`)
      .digest("base64url");
  }

  /** A secret that belongs to one state of a sign-in at another issuer. */
  issuerSecret(what: "nonce" | "verifier", state: string): string {
    return createHmac("sha256", this.bytes)
      .update(`${SIGNING_DOMAINS.accountIssuer}\n${what}\n${state}`)
      .digest("base64url");
  }

  /**
   * A challenge for one purpose in one browser, until `expires`. It needs no place in the store
   * before it is answered.
   */
  challenge(random: Random, purpose: string, browser: string, expires: number): string {
    const head = Buffer.alloc(24);
    head.writeBigUInt64BE(BigInt(expires));
    head.set(random.bytes(16), 8);
    return Buffer.concat([head, this.#seal(head, purpose, browser)]).toString("base64url");
  }

  /** When a challenge expires; null unless it was given to this browser for this purpose. */
  challengeExpiry(challenge: string, purpose: string, browser: string): number | null {
    const bytes = Buffer.from(challenge, "base64url");
    if (bytes.length !== 56 || bytes.toString("base64url") !== challenge) return null;
    const head = bytes.subarray(0, 24);
    return timingSafeEqual(bytes.subarray(24), this.#seal(head, purpose, browser))
      ? Number(head.readBigUInt64BE())
      : null;
  }

  #seal(head: Uint8Array, purpose: string, browser: string): Buffer {
    return createHmac("sha256", this.bytes)
      .update(`${SIGNING_DOMAINS.accountChallenge}\n${purpose}\n${browser}\n`)
      .update(head)
      .digest();
  }
}

/** Whether two texts are the same, in a time that doesn't depend on where they differ. */
export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
