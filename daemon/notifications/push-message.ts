/**
 * An encrypted push message as its service takes it (RFC 8291, RFC 8292). Loaded with the first
 * one, because most Homes send none.
 */
import webPush from "web-push";
import { LIMITS } from "../../shared/limits.ts";

export interface PushTarget {
  endpoint: string;
  p256dh: string;
  auth: string;
}

export interface PushKey {
  private_key: string;
  public_key: string;
}

/** Headers and body of the request. Throws if the browser's keys aren't points of the curve. */
export function pushMessage(
  { endpoint, p256dh, auth }: PushTarget,
  { private_key: privateKey, public_key: publicKey }: PushKey,
  { payload, topic, subject }: { payload: string; topic: string; subject: string },
): { headers: Record<string, string>; body: Buffer } {
  const { headers, body } = webPush.generateRequestDetails({ endpoint, keys: { p256dh, auth } }, payload, {
    vapidDetails: { subject, publicKey, privateKey },
    TTL: LIMITS.push.keptSeconds,
    urgency: "high",
    topic,
    contentEncoding: "aes128gcm",
  });
  const told = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  // The transport counts the body itself.
  return {
    headers: Object.fromEntries(told.filter(([name]) => name !== "content-length")),
    body,
  };
}
