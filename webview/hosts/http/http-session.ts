/**
 * Signing in and out in a browser: a one-time login link or an access token becomes a cookie
 * session.
 */
import { API_PREFIX } from "../../../shared/names.ts";
import { HostError, type Session, type Viewer } from "../host.ts";
import type { Requests } from "./requests.ts";

/** What the session's address returns (daemon/http/web/session-routes.ts). */
interface SessionAnswer {
  kind: "user" | "member";
  csrf_token: string;
  token_id: string | null;
}

/** At the end of a login link. */
const LOGIN_LINK = /#login=([A-Za-z0-9_-]+)$/;
const SESSION = `${API_PREFIX}/web-access/session`;
const LOGOUT = `${API_PREFIX}/web-access/logout`;

export class HttpSession implements Session {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  async restore(): Promise<Viewer | null> {
    const code = takeLoginCode();
    if (code !== null) return this.#open({ login_link_code: code });
    try {
      return this.#accept(await this.#requests.json("GET", SESSION));
    } catch (error) {
      if (error instanceof HostError && error.code === "unauthenticated") return null;
      throw error;
    }
  }

  signIn(credential: string): Promise<Viewer> {
    const code = LOGIN_LINK.exec(credential)?.[1];
    return this.#open(code === undefined ? { token: credential } : { login_link_code: code });
  }

  async signOut(): Promise<void> {
    await this.#requests.json("POST", LOGOUT, "{}");
    this.#requests.csrf = null;
  }

  onEnd(listener: () => void): void {
    this.#requests.ended = () => {
      this.#requests.csrf = null;
      listener();
    };
  }

  /** A browser that blocks cookies says nothing. The next request shows it. */
  async #open(credential: Record<string, string>): Promise<Viewer> {
    await this.#requests.json("POST", SESSION, JSON.stringify(credential));
    const viewer = await this.restore();
    if (viewer !== null) return viewer;
    throw new HostError(
      "cookies_blocked",
      this.#requests.frameId === null
        ? "This browser blocks cookies here, so nobody stays signed in. Allow them for this page."
        : "This browser blocks cookies in this frame, so nobody stays signed in. Open the Workbench in its own tab.",
    );
  }

  #accept(answer: unknown): Viewer {
    const { kind, csrf_token: csrfToken, token_id: tokenId } = answer as SessionAnswer;
    this.#requests.csrf = csrfToken;
    return {
      kind: kind === "member" ? "restricted" : "administrator",
      ...(tokenId === null ? {} : { tokenId }),
    };
  }
}

/**
 * The one-time code in the address. It is removed from the address bar and the history before
 * anything else happens.
 */
function takeLoginCode(): string | null {
  const match = LOGIN_LINK.exec(location.hash);
  if (location.hash.startsWith("#login="))
    history.replaceState(null, "", location.pathname + location.search);
  return match?.[1] ?? null;
}
