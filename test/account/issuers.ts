/**
 * Issuers of OpenID Connect on loopback: a real one (oidc-provider), and one that answers whatever
 * a test wants.
 */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { Provider } from "oidc-provider";
import { freePort } from "../../demo/free-port.ts";
import { ask } from "./service.ts";

const CLIENT = "svc";
const SECRET = "a secret of this client";

/** Settings of a service that trusts the issuer. */
export function trusting(url: string, isOpen: boolean) {
  return { url, clientId: CLIENT, clientSecret: SECRET, isOpen };
}

/** oidc-provider with its own pages for development: any name signs in. */
export class RealIssuer {
  readonly url: string;
  readonly #server: Server;

  private constructor(url: string, server: Server) {
    this.url = url;
    this.#server = server;
  }

  static async open(redirectUris: string[]): Promise<RealIssuer> {
    const port = await freePort();
    const url = `http://localhost:${port}`;
    const provider = new Provider(url, {
      clients: [{ client_id: CLIENT, client_secret: SECRET, redirect_uris: redirectUris }],
      claims: { openid: ["sub"], profile: ["name", "email"] },
      findAccount: (_context: unknown, sub: string) => ({
        accountId: sub,
        claims: () => ({
          sub,
          name: `${sub} of the issuer`,
          email: "ann@example.org",
          email_verified: false,
        }),
      }),
      cookies: { keys: ["a key of this test"] },
    });
    const serve = provider.callback();
    const server = createServer((asked, answer) => void serve(asked, answer)).listen(port, "127.0.0.1");
    await once(server, "listening");
    return new RealIssuer(url, server);
  }

  /** Signs in there as `login`, from the address that the service gave. Answers where it leads. */
  async answer(address: string, login: string): Promise<string> {
    const jar = new Map<string, string>();
    let at = address;
    let body: string | undefined;
    for (let step = 0; step < 10; step += 1) {
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
      const { pathname, search } = new URL(at, this.url);
      const answer = await ask(this.url, `${pathname}${search}`, {
        method: body === undefined ? "GET" : "POST",
        headers: {
          cookie,
          ...(body !== undefined && { "content-type": "application/x-www-form-urlencoded" }),
        },
        ...(body !== undefined && { body }),
      });
      body = undefined;
      for (const line of answer.headers["set-cookie"] ?? []) {
        const [, name, value] = /^([^=]+)=([^;]*)/u.exec(line)!;
        jar.set(name!, value!);
      }
      const { location } = answer.headers;
      if (location === undefined) {
        const prompt = /name="prompt" value="(\w+)"/u.exec(answer.body as string)?.[1];
        if (prompt === undefined) throw new Error(`the issuer says ${answer.status}: ${answer.body}`);
        body = new URLSearchParams({ prompt, login, password: "any" }).toString();
      } else if (location.startsWith(this.url) || location.startsWith("/")) at = location;
      else return location;
    }
    throw new Error("the issuer leads nowhere");
  }

  async close(): Promise<void> {
    await closed(this.#server);
  }
}

async function closed(server: Server): Promise<void> {
  const end = once(server, "close");
  server.close();
  server.closeAllConnections();
  await end;
}

interface Key {
  kid: string;
  private: KeyObject;
  public: KeyObject;
}

function key(kid: string): Key {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { kid, private: privateKey, public: publicKey };
}

/** How an answer differs from an honest one. */
export interface Lie {
  /** Members of the ID token; undefined leaves one out. */
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
  /** Another key than the published one signs. */
  isForged?: boolean;
  /** No signature at all. */
  isUnsigned?: boolean;
  /** No ID token at all. */
  isMissing?: boolean;
  /** Subject and name of the answer at the userinfo endpoint. */
  userinfo?: Record<string, unknown>;
  /** The token endpoint's status, and the error that it names. */
  status?: number;
  error?: string;
}

/** An issuer that the service trusts, and that lies. */
export class LyingIssuer {
  lie: Lie = {};
  /** Whose sign-in the next code is. */
  subject = "mallory";
  readonly url: string;
  readonly #server: Server;
  readonly #published = key("published");
  readonly #other = key("published");
  /** The nonce of each authorization request, by the code that answers it. */
  readonly #nonces = new Map<string, string>();

  private constructor(url: string, server: Server) {
    this.url = url;
    this.#server = server;
    server.on("request", (asked: IncomingMessage, answer: ServerResponse) => {
      this.#serve(asked, answer).catch(() => answer.destroy());
    });
  }

  static async open(): Promise<LyingIssuer> {
    const port = await freePort();
    const server = createServer().listen(port, "127.0.0.1");
    await once(server, "listening");
    return new LyingIssuer(`http://localhost:${port}`, server);
  }

  /** The fields with which the browser comes back from `address`. */
  answer(address: string): Record<string, string> {
    const asked = new URL(address).searchParams;
    const code = `code-${this.#nonces.size}`;
    this.#nonces.set(code, asked.get("nonce")!);
    return { code, state: asked.get("state")!, iss: this.url };
  }

  async close(): Promise<void> {
    await closed(this.#server);
  }

  async #serve(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = new URLSearchParams(await text(asked));
    const json = (value: object, status = 200): void => {
      answer.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    };
    if (asked.url === "/.well-known/openid-configuration") {
      json({
        issuer: this.url,
        authorization_endpoint: `${this.url}/authorize`,
        token_endpoint: `${this.url}/token`,
        userinfo_endpoint: `${this.url}/userinfo`,
        jwks_uri: `${this.url}/keys`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
        authorization_response_iss_parameter_supported: true,
      });
    } else if (asked.url === "/keys") {
      const { kid, public: shown } = this.#published;
      json({ keys: [{ ...shown.export({ format: "jwk" }), kid, alg: "RS256", use: "sig" }] });
    } else if (asked.url === "/userinfo") {
      json({ sub: this.subject, name: this.subject, ...this.lie.userinfo });
    } else {
      const { status = 200, isMissing = false, error } = this.lie;
      const token = isMissing
        ? {}
        : { id_token: this.#idToken(this.#nonces.get(body.get("code") ?? "") ?? "") };
      json({ access_token: "access", token_type: "Bearer", expires_in: 60, error, ...token }, status);
    }
  }

  #idToken(nonce: string): string {
    const { claims, header, isForged = false, isUnsigned = false } = this.lie;
    const now = Math.floor(Date.now() / 1000);
    const honest = {
      iss: this.url,
      sub: this.subject,
      aud: CLIENT,
      iat: now,
      exp: now + 60,
      auth_time: now,
      nonce,
    };
    const parts = [
      { alg: "RS256", typ: "JWT", kid: this.#published.kid, ...header },
      { ...honest, ...claims },
    ].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
    const signed = parts.join(".");
    const { private: secret } = isForged ? this.#other : this.#published;
    return `${signed}.${isUnsigned ? "" : sign("sha256", Buffer.from(signed), secret).toString("base64url")}`;
  }
}
