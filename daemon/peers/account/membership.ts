/**
 * `secrets/membership.json`: this instance's binding to an account, and a login that waits for its
 * confirmation (docs/protocol.md#daemon-files). The device's token is in no other file, no log and
 * no address.
 */
import * as z from "zod";
import { type DocumentOptions, JsonDocument, type KeptFiles } from "../../../platform/documents.ts";
import type { Files } from "../../../platform/files.ts";
import { HomeProblem } from "../../../platform/problem.ts";
import { Signal } from "../../../platform/signal.ts";
import { Refusal } from "../../../shared/errors.ts";
import { ServiceOrigin } from "../../../shared/wire/v1/fields.ts";

const PendingLogin = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  /** Seconds between two questions. */
  interval: z.number(),
  expires_at: z.string(),
  account_origin: ServiceOrigin,
});
export type PendingLogin = z.infer<typeof PendingLogin>;

const Problem = z.object({ code: z.string(), message: z.string() });

/** One device of an account. Two bindings are the same only if they are the same object. */
const Binding = z.object({ account_origin: ServiceOrigin, device_id: z.string(), device_token: z.string() });
export type Binding = Readonly<z.infer<typeof Binding>>;

const Document = z.object({
  logged_in: z.boolean(),
  account_origin: ServiceOrigin.nullable(),
  device_id: z.string().nullable(),
  device_token: z.string().nullable(),
  hostname: z.string(),
  account_label: z.string().nullable().exactOptional(),
  disabled: z.boolean(),
  pending_login: PendingLogin.nullable(),
  /** Devices of this instance that are still to be retired in their account, newest last. */
  retiring: z.array(Binding).exactOptional(),
  last_error: Problem.nullable(),
});
export type MembershipDocument = z.infer<typeof Document>;

const EMPTY: MembershipDocument = {
  logged_in: false,
  account_origin: null,
  device_id: null,
  device_token: null,
  hostname: "",
  disabled: false,
  pending_login: null,
  last_error: null,
};

export class Membership {
  readonly #options: DocumentOptions<MembershipDocument>;
  readonly #changed = new Signal();
  #document: JsonDocument<MembershipDocument> | null;
  #creating: Promise<JsonDocument<MembershipDocument>> | null = null;
  #binding: Binding | null;
  /** Why the file can't be read, in words. It stays as it is then, and there is no binding. */
  readonly problem: string | null;

  private constructor(
    options: DocumentOptions<MembershipDocument>,
    document: JsonDocument<MembershipDocument> | null,
    problem: string | null,
  ) {
    this.#options = options;
    this.#document = document;
    this.#binding = bindingOf(document?.value ?? EMPTY);
    this.problem = problem;
  }

  static async open(files: Files, path: string, kept?: KeptFiles): Promise<Membership> {
    const options = { files, path, version: 1, schema: Document, kept };
    try {
      return new Membership(options, await JsonDocument.read(options), null);
    } catch (error) {
      if (!(error instanceof HomeProblem)) throw error;
      return new Membership(options, null, error.message);
    }
  }

  get value(): Readonly<MembershipDocument> {
    return this.#document?.value ?? EMPTY;
  }

  /** Null when this instance isn't linked. */
  get binding(): Binding | null {
    return this.#binding;
  }

  /** Called after every change. Returns the way to stop listening. */
  onChange(listener: () => void): () => void {
    return this.#changed.on(listener);
  }

  /**
   * Durable once resolved. `change` sees the value at the moment of writing, and returns it to
   * change nothing. Throws storage_full, storage_failed, or what `change` throws.
   */
  async update(change: (value: Readonly<MembershipDocument>) => MembershipDocument): Promise<void> {
    if (this.problem !== null) throw new Refusal("storage_failed", { specifics: this.problem });
    const document = this.#document ?? (await this.#create());
    const before = document.value;
    const after = await document.update(change);
    if (after === before) return;
    // Another change may have been written meanwhile: the latest one counts.
    const next = bindingOf(document.value);
    if (!isSame(this.#binding, next)) this.#binding = next;
    this.#changed.tell();
  }

  async #create(): Promise<JsonDocument<MembershipDocument>> {
    this.#creating ??= JsonDocument.create(this.#options, EMPTY);
    try {
      return (this.#document = await this.#creating);
    } finally {
      this.#creating = null;
    }
  }
}

/** What a document is linked as; null if it isn't. */
export function bindingOf(value: Readonly<MembershipDocument>): Binding | null {
  const { account_origin: accountOrigin, device_id: deviceId, device_token: deviceToken } = value;
  if (accountOrigin === null || deviceId === null || deviceToken === null) return null;
  return { account_origin: accountOrigin, device_id: deviceId, device_token: deviceToken };
}

function isSame(one: Binding | null, other: Binding | null): boolean {
  return (
    one?.account_origin === other?.account_origin &&
    one?.device_id === other?.device_id &&
    one?.device_token === other?.device_token
  );
}
