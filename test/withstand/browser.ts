/**
 * A browser as far as the daemon can tell: a login link's session, its cookie and its CSRF token.
 */
import assert from "node:assert/strict";
import type { DaemonClient } from "../../client/client.ts";
import { API_PREFIX } from "../../shared/names.ts";

export interface BrowserSession {
  cookie: string;
  csrf: string;
}

/** The one-time code of a fresh login link. */
export async function loginCode(client: DaemonClient): Promise<string> {
  const { url } = await client.result("login_link_create", {});
  const code = /[A-Za-z0-9_-]{43}/.exec(new URL(url).hash)?.[0];
  assert.ok(code, "the link has no code in its fragment");
  return code;
}

export function redeem(
  origin: string,
  code: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${origin}${API_PREFIX}/web-access/session`, {
    method: "POST",
    headers: { "content-type": "application/json", origin, ...headers },
    body: JSON.stringify({ login_link_code: code }),
  });
}

export async function signIn(client: DaemonClient, origin: string): Promise<BrowserSession> {
  const response = await redeem(origin, await loginCode(client));
  assert.equal(response.status, 200);
  const { result } = (await response.json()) as { result: { csrf_token: string } };
  return { cookie: response.headers.getSetCookie()[0]!.split(";")[0]!, csrf: result.csrf_token };
}
