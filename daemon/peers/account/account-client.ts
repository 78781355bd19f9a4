/**
 * Requests to the account service (docs/protocol.md#account). Every answer is bounded before it is
 * parsed, and parsed strictly. The device's token goes only into its header.
 */
import type { HttpClient, HttpFailure, HttpOutcome } from "../../../platform/http/client.ts";
import { shownName } from "../../../shared/foreign-text.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { HEADERS, MEMBERSHIP_VERSION } from "../../../shared/names.ts";
import { parsedJsonBytes } from "../../../shared/strict-json.ts";
import { PRODUCT_VERSION } from "../../../shared/version.ts";
import {
  AccountRefusal,
  DeviceCode,
  DeviceDisabled,
  DeviceName,
  DeviceToken,
  DeviceTokenError,
  Directory,
} from "../../../shared/wire/v1/account.ts";
import { GroupLinks } from "../../../shared/wire/v1/group-links.ts";
import type { Registration } from "../../../shared/wire/v1/proofs.ts";
import type { Binding } from "./membership.ts";

/**
 * What a failure means:
 * - `passing`: nothing is known; the same question may succeed later, after `retrySeconds` at the
 *   soonest.
 * - `rejected`: the service refuses this version or this registration.
 * - `logged_out`: it doesn't know the device's token.
 * - `disabled`: the device was retired.
 */
export interface AccountFailure {
  kind: "passing" | "rejected" | "logged_out" | "disabled";
  code: string;
  /** For people. */
  message: string;
  retrySeconds: number;
}

export type Answered<Value> = { ok: true; value: Value } | { ok: false; failure: AccountFailure };

interface Schema<Value> {
  safeParse(value: unknown): { data?: Value };
}

interface Asked<Value> {
  origin: string;
  method: "GET" | "POST";
  path: string;
  token?: string;
  body?: unknown;
  schema: Schema<Value>;
  limit?: number;
  /** Ends this request. */
  signal?: AbortSignal;
}

const { link } = LIMITS;
const DIRECTORY = { path: "/v1/connect/instances", schema: Directory, limit: link.answerBytes };
const GROUPS = { path: "/v1/connect/groups", schema: GroupLinks, limit: link.answerBytes };
const GRANT = "urn:ietf:params:oauth:grant-type:device_code";

export class AccountClient {
  readonly #http: HttpClient;
  readonly #milliseconds: number;
  readonly #signal: AbortSignal;

  /** `signal` ends every request. */
  constructor(http: HttpClient, seconds: number, signal: AbortSignal) {
    this.#http = http;
    this.#milliseconds = seconds * 1000;
    this.#signal = signal;
  }

  async deviceCode(origin: string, hostname: string): Promise<Answered<DeviceCode>> {
    const body = { hostname, client_version: PRODUCT_VERSION };
    const path = "/v1/device/code";
    const outcome = await this.#send({ origin, method: "POST", path, body, schema: DeviceCode });
    if (outcome.kind === "answered" && NO_SERVICE.has(outcome.status))
      return stranger(outcome.status, origin);
    return answered(outcome, DeviceCode, origin);
  }

  /** The token, or the OAuth error of a grant that isn't decided or is refused. */
  async deviceToken(
    origin: string,
    deviceCode: string,
  ): Promise<Answered<DeviceToken> | { ok: false; oauth: string }> {
    const body = { grant_type: GRANT, device_code: deviceCode };
    const path = "/v1/device/token";
    const outcome = await this.#send({ origin, method: "POST", path, body, schema: DeviceToken });
    if (outcome.kind === "answered" && outcome.status === 400) {
      const refused = parsedJsonBytes(DeviceTokenError, outcome.body);
      if (refused !== null) return { ok: false, oauth: refused.error };
    }
    return answeredPlain(outcome, DeviceToken, origin);
  }

  name({ account_origin: origin, device_token: token }: Binding, name: string): Promise<Answered<unknown>> {
    const body = { display_name: name };
    return this.#ask({ origin, method: "POST", path: "/v1/device/name", token, body, schema: DeviceName });
  }

  /**
   * Retires a device, unless the account doesn't have it any more. The credential is forgotten
   * after that, so only the service's own word counts, and no page of a proxy in front of it.
   */
  async retire({ account_origin: origin, device_token: token }: Binding): Promise<Answered<unknown>> {
    const path = "/v1/device/disable";
    const schema = DeviceDisabled;
    const outcome = await this.#send({ origin, method: "POST", path, token, body: {}, schema });
    const answer = answered(outcome, schema, origin);
    const isGone = !answer.ok && (answer.failure.kind === "logged_out" || answer.failure.kind === "disabled");
    if (!isGone || outcome.kind === "failed") return answer;
    if (parsedJsonBytes(AccountRefusal, outcome.body) !== null) return { ok: true, value: null };
    return stranger(outcome.status, origin);
  }

  register(
    { account_origin: origin, device_token: token }: Binding,
    registration: Registration,
    signal: AbortSignal,
  ): Promise<Answered<Directory>> {
    return this.#ask({ origin, method: "POST", token, body: registration, signal, ...DIRECTORY });
  }

  /** The directory as it is, without registering. */
  directory(
    { account_origin: origin, device_token: token }: Binding,
    signal: AbortSignal,
  ): Promise<Answered<Directory>> {
    return this.#ask({ origin, method: "GET", token, signal, ...DIRECTORY });
  }

  /** The connections to Groups of other accounts. */
  async groups(
    { account_origin: origin, device_token: token }: Binding,
    signal: AbortSignal,
  ): Promise<Answered<GroupLinks>> {
    return this.#askGroups({ origin, method: "GET", token, signal, ...GROUPS });
  }

  /** The same, without those whose own Group is gone. */
  async invalidate(
    { account_origin: origin, device_token: token }: Binding,
    ids: readonly string[],
    signal: AbortSignal,
  ): Promise<Answered<GroupLinks>> {
    return this.#askGroups({ origin, method: "POST", token, body: { invalidated: ids }, signal, ...GROUPS });
  }

  /** An account service without such connections is as good as any other (VER-018). */
  async #askGroups(asked: Asked<GroupLinks>): Promise<Answered<GroupLinks>> {
    const outcome = await this.#send(asked);
    if (outcome.kind !== "answered" || outcome.status !== 404)
      return answered(outcome, asked.schema, asked.origin);
    const words = "This account service doesn't offer connections to other accounts.";
    return { ok: false, failure: passing("connect_groups_unsupported", words, asked.origin) };
  }

  async #ask<Value>(asked: Asked<Value>): Promise<Answered<Value>> {
    return answered(await this.#send(asked), asked.schema, asked.origin);
  }

  #send<Value>({ origin, method, path, token, body, limit, signal }: Asked<Value>): Promise<HttpOutcome> {
    const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
    return this.#http.request({
      method,
      url: `${origin}${path}`,
      headers: {
        accept: "application/json",
        [HEADERS.membershipVersion]: MEMBERSHIP_VERSION,
        [HEADERS.clientVersion]: PRODUCT_VERSION,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(bytes === null ? {} : { "content-type": "application/json" }),
      },
      body: bytes === null ? null : { bytes: bytes.length, parts: [bytes] },
      limit: limit ?? link.smallAnswerBytes,
      milliseconds: this.#milliseconds,
      signal: signal === undefined ? this.#signal : AbortSignal.any([this.#signal, signal]),
    });
  }
}

/** Statuses with which an account service never answers a request without a credential. */
const NO_SERVICE: ReadonlySet<number> = new Set([401, 403, 404, 405]);

/** Statuses by which the service itself refuses a registration. Others are passing errors. */
const REJECTIONS: ReadonlySet<number> = new Set([400, 403, 409]);

/** Why no answer came. */
const FAILED: Record<HttpFailure, string> = {
  timeout: "account_timeout",
  unreachable: "account_unreachable",
  untrusted: "account_untrusted",
  invalid: "account_invalid",
  aborted: "account_unreachable",
};

function answered<Value>(outcome: HttpOutcome, schema: Schema<Value>, origin: string): Answered<Value> {
  if (outcome.kind === "failed") {
    return { ok: false, failure: passing(FAILED[outcome.why], outcome.reason, origin) };
  }
  const { status, body } = outcome;
  if (status === 200) {
    const value = parsedJsonBytes(schema, body);
    if (value !== null) return { ok: true, value };
    const words = "Its answer isn't one of an account service.";
    return { ok: false, failure: passing("account_invalid", words, origin) };
  }
  return {
    ok: false,
    failure: failureOf(status, parsedJsonBytes(AccountRefusal, body)?.error, outcome, origin),
  };
}

/** To a request without a credential. An answer about one is none of an account service. */
function answeredPlain<Value>(outcome: HttpOutcome, schema: Schema<Value>, origin: string): Answered<Value> {
  if (outcome.kind === "answered" && NO_SERVICE.has(outcome.status)) return stranger(outcome.status, origin);
  return answered(outcome, schema, origin);
}

/** docs/protocol.md#account: an uncoded 403 says "device disabled", 401 and 404 "logged out". */
function failureOf(
  status: number,
  refusal: { code: string; message: string } | undefined,
  { headers }: { headers: Readonly<Record<string, string>> },
  origin: string,
): AccountFailure {
  const said = refusal === undefined ? "" : shortened(refusal.message);
  const never = { retrySeconds: 0 };
  if (status === 403 && (refusal === undefined || refusal.code === "device_disabled")) {
    const message = "This instance was retired in the account. Link it again with 'svc link'.";
    return { kind: "disabled", code: "device_disabled", message, ...never };
  }
  if (status === 401 || (status === 404 && refusal === undefined)) {
    const message = "The account service doesn't know this instance. Link it again with 'svc link'.";
    return { kind: "logged_out", code: "account_logged_out", message, ...never };
  }
  if (status === 429 || status >= 500) {
    const wait = Number(headers["retry-after"] ?? 0);
    const retrySeconds = Number.isFinite(wait) ? Math.min(Math.max(wait, 0), link.retryAfterSeconds) : 0;
    const code = refusal?.code ?? (status === 429 ? "rate_limited" : "account_failed");
    return { ...passing(code, said || `It answers with status ${status}.`, origin), retrySeconds };
  }
  const isDefinite = status === 426 || (REJECTIONS.has(status) && refusal !== undefined);
  if (isDefinite) {
    const code = refusal?.code ?? "unsupported_version";
    const message = said || "The account service doesn't accept this version. Update svc.";
    return { kind: "rejected", code, message, ...never };
  }
  return passing(refusal?.code ?? "account_invalid", said || `It answers with status ${status}.`, origin);
}

function stranger(status: number, origin: string): { ok: false; failure: AccountFailure } {
  const words = `What answers there isn't an account service (status ${status}).`;
  return { ok: false, failure: passing("account_invalid", words, origin) };
}

function passing(code: string, reason: string, origin: string): AccountFailure {
  return { kind: "passing", code, message: `${origin}: ${reason}`, retrySeconds: 0 };
}

/** The service's sentence, on one line and without what steers a terminal or hides text. */
function shortened(message: string): string {
  const characters = Array.from(shownName(message).trim());
  const most = link.errorMessageCharacters;
  return characters.length <= most ? characters.join("") : `${characters.slice(0, most - 1).join("")}…`;
}
