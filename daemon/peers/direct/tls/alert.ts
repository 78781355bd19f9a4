/** Alerts (RFC 8446, section 6) and the one error of this folder. */

/** Those that this implementation sends, and those a peer is likely to send. */
export const ALERTS = {
  close_notify: 0,
  unexpected_message: 10,
  bad_record_mac: 20,
  record_overflow: 22,
  handshake_failure: 40,
  bad_certificate: 42,
  unsupported_certificate: 43,
  certificate_unknown: 46,
  illegal_parameter: 47,
  access_denied: 49,
  decode_error: 50,
  decrypt_error: 51,
  protocol_version: 70,
  insufficient_security: 71,
  internal_error: 80,
  user_canceled: 90,
  missing_extension: 109,
  unsupported_extension: 110,
  certificate_required: 116,
  no_application_protocol: 120,
} as const;

export type AlertName = keyof typeof ALERTS;

/**
 * Who ended the connection: this side, sending `alert`; the peer, whose `alert` it is; or the
 * transport, which ended without a closing alert, so that the data may be cut short (RFC 8446,
 * section 6.1).
 */
export type TlsErrorOrigin = "us" | "peer" | "transport";

/**
 * Why a connection failed. The message is a sentence for people and quotes nothing that the peer
 * sent.
 */
export class TlsError extends Error {
  readonly origin: TlsErrorOrigin;
  /** The alert's number; null when none was exchanged. */
  readonly alert: number | null;

  constructor(origin: TlsErrorOrigin, alert: number | null, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "TlsError";
    this.origin = origin;
    this.alert = alert;
  }
}

/**
 * What a step throws when the peer broke a rule or offers something unacceptable. The alert is sent
 * and the connection ends.
 */
export function refusal(alert: AlertName, message: string): TlsError {
  return new TlsError("us", ALERTS[alert], message);
}

/**
 * The error for a fatal alert from the peer. In TLS 1.3 every alert but the two closing ones is
 * fatal, whatever its level says (section 6).
 */
export function refusedByPeer(alert: number): TlsError {
  const name = Object.entries(ALERTS).find(([, number]) => number === alert)?.[0];
  return new TlsError(
    "peer",
    alert,
    `The peer ended the TLS connection: ${name?.replaceAll("_", " ") ?? "alert"} (${alert}).`,
  );
}
