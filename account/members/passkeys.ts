/**
 * Passkeys (WebAuthn). A challenge belongs to one browser and one purpose, and is answered once.
 * The authenticator always verifies its user, because nothing else is asked for.
 */
import {
  type AuthenticationResponseJSON,
  type AuthenticatorTransport,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from "@simplewebauthn/server";
import * as z from "zod";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { parseStrictJson, StrictJsonError } from "../../shared/strict-json.ts";
import type { ServiceKey } from "../secrets.ts";
import { isDuplicate, type Queries, type Store } from "../store/store.ts";
import { useUp } from "./challenges.ts";
import { lockMember } from "./members.ts";
import type { Browser } from "./sessions.ts";

const RP_NAME = "Svc account";
/** WebAuthn, section 7.1. PostgreSQL's index takes about twice as much. */
const CREDENTIAL_ID_BYTES = 1023;
const CHALLENGE_MS = LIMITS.account.challengeSeconds * 1000;

/** What a browser sends. The library checks what is inside; other members are ignored. */
const encoded = z.string().max(LIMITS.account.requestBytes);
const Attested = z.object({
  id: encoded,
  rawId: encoded,
  type: z.literal("public-key"),
  response: z.object({
    clientDataJSON: encoded,
    attestationObject: encoded,
    transports: z.array(z.string().max(32)).max(8).optional(),
  }),
});
const Asserted = z.object({
  id: encoded,
  rawId: encoded,
  type: z.literal("public-key"),
  response: z.object({ clientDataJSON: encoded, authenticatorData: encoded, signature: encoded }),
});

export interface PasskeyDependencies {
  store: Store;
  clock: Clock;
  random: Random;
  key: ServiceKey;
  origin: string;
}

/** A passkey that was made and isn't stored yet. */
export interface NewPasskey {
  id: string;
  publicKey: string;
  counter: number;
  transports: string;
  challenge: string;
}

export class Passkeys {
  readonly #deps: PasskeyDependencies;
  readonly #rpId: string;

  constructor(deps: PasskeyDependencies) {
    this.#deps = deps;
    this.#rpId = new URL(deps.origin).hostname;
  }

  /** What a browser needs to make a passkey. The page puts the person's name in. */
  async creation(browser: Browser, purpose: string, name: string, memberId: string | null): Promise<string> {
    const known = memberId === null ? [] : await this.of(memberId);
    const options = await generateRegistrationOptions({
      rpName: RP_NAME,
      rpID: this.#rpId,
      userName: name,
      userID: new Uint8Array(this.#deps.random.bytes(32)),
      challenge: this.#challenge(browser, purpose),
      attestationType: "none",
      excludeCredentials: known.map((row) => ({ id: row.credential_id })),
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
    });
    return JSON.stringify(options);
  }

  /** What a browser needs to prove a passkey: one of the member's, or any for a sign-in. */
  async request(browser: Browser, purpose: string, memberId: string | null): Promise<string> {
    const known = memberId === null ? [] : await this.of(memberId);
    const options = await generateAuthenticationOptions({
      rpID: this.#rpId,
      challenge: this.#challenge(browser, purpose),
      allowCredentials: known.map((row) => ({ id: row.credential_id })),
      userVerification: "required",
    });
    return JSON.stringify(options);
  }

  /** Checks a passkey that a browser made. Throws `permission_denied`. */
  async checkNew(browser: Browser, purpose: string, answer: string): Promise<NewPasskey> {
    const response = answerOf(Attested, answer) as unknown as RegistrationResponseJSON;
    let challenge = "";
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: { ...response, clientExtensionResults: {} },
      expectedChallenge: (given) => {
        challenge = given;
        return this.#isOurs(given, purpose, browser);
      },
      expectedOrigin: this.#deps.origin,
      expectedRPID: this.#rpId,
      requireUserVerification: true,
    }).catch((error: unknown) => {
      throw denied(error);
    });
    if (!verified) throw denied();
    const { credential } = registrationInfo;
    if (Buffer.from(credential.id, "base64url").length > CREDENTIAL_ID_BYTES) throw denied();
    return {
      id: credential.id,
      publicKey: Buffer.from(credential.publicKey).toString("base64url"),
      counter: credential.counter,
      transports: JSON.stringify(response.response.transports ?? []),
      challenge,
    };
  }

  /** Stores a checked passkey, in the transaction of what allowed it. */
  async add(db: Queries, memberId: string, made: NewPasskey): Promise<void> {
    await this.#useUp(db, made.challenge);
    // Another one that is added at the same time waits, and counts.
    await lockMember(db, this.#deps.store.kind, memberId);
    const { count } = await db
      .selectFrom("passkeys")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("member_id", "=", memberId)
      .executeTakeFirstOrThrow();
    if (count >= LIMITS.account.passkeys) {
      throw new Refusal("limit_reached", {
        specifics: `You have ${count} passkeys, and you can't have more.`,
        remedy: "Remove one that you no longer use.",
      });
    }
    try {
      await db
        .insertInto("passkeys")
        .values({
          credential_id: made.id,
          member_id: memberId,
          public_key: made.publicKey,
          counter: made.counter,
          transports: made.transports,
          created_at: this.#deps.clock.now(),
          used_at: null,
        })
        .execute();
    } catch (error) {
      if (isDuplicate(error)) throw new Refusal("already_exists", { cause: error });
      throw error;
    }
  }

  /**
   * Checks a passkey's answer. Answers the id of its member, who is `expected` if that isn't null.
   * Throws `permission_denied`.
   */
  async check(browser: Browser, purpose: string, answer: string, expected: string | null): Promise<string> {
    const { store, clock, origin } = this.#deps;
    const response = answerOf(Asserted, answer) as unknown as AuthenticationResponseJSON;
    const row = await store.db
      .selectFrom("passkeys")
      .innerJoin("members", "members.id", "passkeys.member_id")
      .select([
        "passkeys.credential_id",
        "passkeys.member_id",
        "passkeys.public_key",
        "passkeys.counter",
        "passkeys.transports",
      ])
      .where("credential_id", "=", response.id)
      .where("members.disabled_at", "is", null)
      .executeTakeFirst();
    if (row === undefined || (expected !== null && row.member_id !== expected)) {
      throw new Refusal("permission_denied", {
        specifics: "This passkey belongs to no account here, or to another one.",
        remedy: "Choose another passkey.",
      });
    }
    let challenge = "";
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { ...response, clientExtensionResults: {} },
      expectedChallenge: (given) => {
        challenge = given;
        return this.#isOurs(given, purpose, browser);
      },
      expectedOrigin: origin,
      expectedRPID: this.#rpId,
      requireUserVerification: true,
      credential: {
        id: row.credential_id,
        publicKey: new Uint8Array(Buffer.from(row.public_key, "base64url")),
        counter: row.counter,
        transports: JSON.parse(row.transports) as AuthenticatorTransport[],
      },
    }).catch((error: unknown) => {
      throw denied(error);
    });
    if (!verified) throw denied();
    await store.transaction(async (db) => {
      await this.#useUp(db, challenge);
      const used = await db
        .updateTable("passkeys")
        .set({ counter: authenticationInfo.newCounter, used_at: clock.now() })
        .where("credential_id", "=", row.credential_id)
        // It may have been removed, or used by a copy, since it was looked up.
        .where("counter", "=", row.counter)
        .returning("credential_id")
        .executeTakeFirst();
      if (used === undefined) throw denied();
    });
    return row.member_id;
  }

  /** A member's passkeys. */
  async of(memberId: string) {
    return this.#deps.store.db
      .selectFrom("passkeys")
      .select(["credential_id", "created_at", "used_at"])
      .where("member_id", "=", memberId)
      .orderBy("created_at")
      .execute();
  }

  #challenge(browser: Browser, purpose: string): Uint8Array<ArrayBuffer> {
    const { key, random, clock } = this.#deps;
    const text = key.challenge(random, purpose, browser.id, clock.now() + CHALLENGE_MS);
    return new Uint8Array(Buffer.from(text, "base64url"));
  }

  #isOurs(challenge: string, purpose: string, browser: Browser): boolean {
    const expires = this.#deps.key.challengeExpiry(challenge, purpose, browser.id);
    return expires !== null && expires > this.#deps.clock.now();
  }

  async #useUp(db: Queries, challenge: string): Promise<void> {
    if (!(await useUp(db, challenge, this.#deps.clock.now() + CHALLENGE_MS))) throw denied();
  }
}

function denied(cause?: unknown): Refusal {
  return new Refusal("permission_denied", {
    specifics: "The passkey wasn't accepted.",
    remedy: "Open the page again and try once more.",
    cause,
  });
}

function answerOf<Schema extends z.ZodType>(schema: Schema, answer: string): z.infer<Schema> {
  let value: unknown;
  try {
    value = parseStrictJson(answer);
  } catch (error) {
    if (error instanceof StrictJsonError) throw denied(error);
    throw error;
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw denied();
  return parsed.data;
}
