/**
 * Validity at a moment (`now` in milliseconds since 1970). Each function returns null, or what is
 * wrong as the end of a sentence about the object: "has expired". Instants are compared to the
 * millisecond.
 */
import { LIMITS } from "../../limits.ts";
import type { ConnectCancellation, ConnectMessage, Receipt } from "./message.ts";
import type { ConnectPeerAuthorization } from "./peer.ts";
import type {
  ConnectFrameProof,
  ConnectGroupCheck,
  ConnectGroupTicket,
  ConnectIdentityProof,
  Registration,
} from "./proofs.ts";
import { milliseconds } from "./time.ts";

const { connect } = LIMITS;
const SKEW = connect.skewSeconds * 1000;

/**
 * The times of a proof that is issued at `now` and valid for that many seconds. Both come from one
 * reading of the clock: a proof that lasts a millisecond longer than it may is refused.
 */
export function validity(now: number, seconds: number): { issued_at: string; expires_at: string } {
  return {
    issued_at: new Date(now).toISOString(),
    expires_at: new Date(now + seconds * 1000).toISOString(),
  };
}

/**
 * A proof that says when it was issued. It may be valid for a limited number of seconds, and may
 * come from a clock that is a little ahead.
 */
function untimely(
  proof: { issued_at: string; expires_at: string },
  now: number,
  seconds: number,
): string | null {
  const issued = milliseconds(proof.issued_at);
  const expires = milliseconds(proof.expires_at);
  if (expires <= issued) return "expires before it is issued";
  if (expires - issued > seconds * 1000) return `is valid for more than ${seconds} seconds`;
  if (issued > now + SKEW) return "is issued in the future";
  return expires <= now ? "has expired" : null;
}

/** An answer to our own nonce. Only its end shows its age. */
function unfresh(proof: { expires_at: string }, now: number, seconds: number): string | null {
  const expires = milliseconds(proof.expires_at);
  if (expires <= now) return "has expired";
  return expires > now + seconds * 1000 + SKEW ? `is valid for more than ${seconds} seconds` : null;
}

export function untimelyRequest(proof: ConnectPeerAuthorization, now: number): string | null {
  return untimely(proof, now, connect.proofSeconds);
}

export function untimelyFrame(proof: ConnectFrameProof, now: number): string | null {
  return untimely(proof, now, connect.frameSeconds);
}

export function untimelyTicket(ticket: ConnectGroupTicket, now: number): string | null {
  return untimely(ticket, now, connect.ticketSeconds);
}

export function untimelyIdentity(proof: ConnectIdentityProof, now: number): string | null {
  return unfresh(proof, now, connect.identitySeconds);
}

export function untimelyGroupCheck(check: ConnectGroupCheck, now: number): string | null {
  return unfresh(check, now, connect.groupCheckSeconds);
}

export function untimelyRegistration({ issued_at: issuedAt }: Registration, now: number): string | null {
  const distance = Math.abs(milliseconds(issuedAt) - now);
  return distance > connect.registrationSkewSeconds * 1000 ? "isn't current" : null;
}

/**
 * Whether the target may still admit it. Not checked for what the target has already admitted
 * (PEER-035).
 */
export function untimelyDelivery(work: ConnectMessage | ConnectCancellation, now: number): string | null {
  if (milliseconds(work.created_at) > now + SKEW) return "is created in the future";
  return milliseconds(work.deliver_before) <= now ? "is past its delivery window" : null;
}

/**
 * A target whose clock is further ahead than a proof lasts has accepted no request, so it has
 * nothing to say about one.
 */
export function untimelyReceipt({ delivered_at: deliveredAt }: Receipt, now: number): string | null {
  return milliseconds(deliveredAt) > now + connect.proofSeconds * 1000 ? "is in the future" : null;
}
