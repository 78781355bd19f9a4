/** What the operator decides: options of `svc account-service` and its environment. */
import { isIP } from "node:net";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { Refusal } from "../shared/errors.ts";
import { DEFAULT_ACCOUNT_HOST, DEFAULT_ACCOUNT_PORT, ENVIRONMENT } from "../shared/names.ts";
import { typedOrigin } from "../shared/typed-origin.ts";
import { ServiceOrigin } from "../shared/wire/v1/fields.ts";
import { isVersion } from "./directory/version-gate.ts";

/** An issuer of OpenID Connect through which members sign in. */
export interface IssuerSettings {
  url: string;
  clientId: string;
  /** Null for a public client. */
  clientSecret: string | null;
  /** Whether somebody whom it knows becomes a member at the first sign-in. */
  isOpen: boolean;
}

export interface Settings {
  /** The service's own folder: its key and, unless PostgreSQL is used, its store. */
  folder: string;
  /** `postgres://…`; null for the embedded database. */
  database: string | null;
  /** Where the service listens. A proxy in front of it may have other names. */
  host: string;
  port: number;
  /** Canonical origin, as browsers and daemons name the service. Registrations sign it. */
  origin: string;
  /** Proxies in front of the service whose `X-Forwarded-For` is believed. */
  proxies: number;
  /** Whether anybody may sign in under any name. Only on loopback. */
  developmentLogin: boolean;
  /** MEMBERSHIP_MIN_CLIENT_VERSION. */
  minimumVersion: string | null;
  issuer: IssuerSettings | null;
}

/** What the command line gave. */
export interface SettingsOptions {
  folder?: string | undefined;
  database?: string | undefined;
  host?: string | undefined;
  port?: number | undefined;
  origin?: string | undefined;
  proxies?: number | undefined;
}

/** Environment variables whose names the contract fixes. */
const DEVELOPMENT_LOGIN = "ALLOW_DEV_LOGIN";
const MINIMUM_VERSION = "MEMBERSHIP_MIN_CLIENT_VERSION";

function wrong(specifics: string, remedy: string): Refusal {
  return new Refusal("invalid_args", { specifics, remedy });
}

/**
 * Throws `invalid_args` for settings that can't be used. An empty variable is one that isn't set.
 */
export function settingsOf(options: SettingsOptions, environment: NodeJS.ProcessEnv): Settings {
  const set = (name: string): string | undefined => environment[name] || undefined;
  const host = options.host ?? DEFAULT_ACCOUNT_HOST;
  const port = options.port ?? DEFAULT_ACCOUNT_PORT;
  // Passkeys don't work under an IP address.
  const origin = typedOrigin(options.origin ?? `http://localhost:${port}`);
  if (!ServiceOrigin.safeParse(origin).success) {
    throw wrong(
      `'${origin.slice(0, 128)}' isn't an origin that this service can have.`,
      "Give https://HOST, as members and daemons reach it, without a path. On this machine http://localhost:PORT works.",
    );
  }
  const database = options.database ?? set(ENVIRONMENT.accountDatabase) ?? null;
  // It isn't repeated: it may have a password.
  if (database !== null && !isPostgres(database))
    throw wrong("The address of the database isn't one.", "Give postgres://USER@HOST/NAME.");
  const minimum = set(MINIMUM_VERSION) ?? null;
  if (minimum !== null && !isVersion(minimum))
    throw wrong(`${MINIMUM_VERSION} isn't a version.`, "Give one like 0.5.0, or leave it out.");
  return {
    folder: resolve(options.folder ?? set(ENVIRONMENT.accountFolder) ?? join(homedir(), ".svc-account")),
    database,
    host,
    port,
    origin,
    proxies: options.proxies ?? 0,
    developmentLogin: set(DEVELOPMENT_LOGIN) === "1" && isLoopback(host) && origin.startsWith("http:"),
    minimumVersion: minimum,
    issuer: issuerOf(set),
  };
}

function issuerOf(set: (name: string) => string | undefined): IssuerSettings | null {
  const url = set(ENVIRONMENT.accountIssuer);
  if (url === undefined) return null;
  const clientId = set(ENVIRONMENT.accountIssuerClient);
  if (!isIssuer(url))
    throw wrong(
      `${ENVIRONMENT.accountIssuer} isn't the address of an issuer.`,
      "Give https://HOST, with its path if it has one.",
    );
  if (clientId === undefined) {
    throw wrong(
      `${ENVIRONMENT.accountIssuer} is set without ${ENVIRONMENT.accountIssuerClient}.`,
      "Give the client id that the issuer has for this service.",
    );
  }
  return {
    url,
    clientId,
    clientSecret: set(ENVIRONMENT.accountIssuerSecret) ?? null,
    isOpen: set(ENVIRONMENT.accountIssuerOpen) === "1",
  };
}

/** Whether the service sees where requests come from. It never speaks HTTPS itself. */
export function knowsAddresses({ origin, proxies }: Settings): boolean {
  return proxies > 0 || origin.startsWith("http:");
}

function isPostgres(text: string): boolean {
  return URL.canParse(text) && /^postgres(?:ql)?:$/u.test(new URL(text).protocol);
}

/** HTTPS; on this machine HTTP too. */
function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, search, hash, username } = new URL(text);
  const isPlain = search === "" && hash === "" && username === "";
  return (
    isPlain &&
    (protocol === "https:" || (protocol === "http:" && isLoopback(hostname.replace(/^\[|\]$/gu, ""))))
  );
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
