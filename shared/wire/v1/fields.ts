/** Fields that several objects of the wire share: identities, digests, keys, origins, titles. */
import { base58 } from "@scure/base";
import * as z from "zod";
import { LIMITS } from "../../limits.ts";
import { Sha256, text } from "../../model.ts";

const { connect } = LIMITS;
/**
 * A fixed form is no longer than this, so that a longer text is refused without looking at all of
 * it.
 */
const FORM_CHARACTERS = 128;
const form = () => z.string().max(FORM_CHARACTERS, { error: "is too long", abort: true });
const UUID = "(?:[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[0-9A-Fa-f]{32})";

/** A UUID with or without dashes, as written. */
export const Uuid = form().regex(new RegExp(`^${UUID}$`, "u"), "isn't a UUID");
/**
 * A Direct connection's id. Only this marks an object as Direct's, without account and device
 * fields.
 */
export const DirectId = form().regex(new RegExp(`^direct-${UUID}$`, "u"), "isn't a Direct connection id");
export const ConnectionId = z.union([Uuid, DirectId], { error: "isn't a connection id" });

export function isDirect(connectionId: string | undefined): boolean {
  return connectionId?.startsWith("direct-") ?? false;
}

/** Multihash "identity", 36 bytes; protobuf field 1 = Ed25519; field 2 = 32 bytes (ID-022). */
const PEER_ID_PREFIX = [0x00, 0x24, 0x08, 0x01, 0x12, 0x20];

/** ID-022: base58btc of 0x00,0x24,0x08,0x01,0x12,0x20 and the 32 bytes of the public key. */
export function instanceIdOf(publicKey: Uint8Array): string {
  return base58.encode(Uint8Array.of(...PEER_ID_PREFIX, ...publicKey));
}

function isInstanceId(value: string): boolean {
  try {
    const bytes = base58.decode(value);
    return bytes.length === 38 && PEER_ID_PREFIX.every((byte, index) => bytes[index] === byte);
  } catch {
    return false;
  }
}

export const InstanceId = form().refine(isInstanceId, "isn't an instance id");

/** Whole groups of three bytes, then the two or one that are left, with no bit after the last. */
function base64Of(bytes: number, problem: string) {
  const whole = `[A-Za-z0-9+/]{${Math.floor(bytes / 3) * 4}}`;
  const rest = ["", "[A-Za-z0-9+/][AQgw]==", "[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]="][bytes % 3]!;
  return form().regex(new RegExp(`^${whole}${rest}$`, "u"), problem);
}

/** Only the form. The receiver checks whether the key may be used (`VerifyingKey.admit`). */
export const PublicKey = base64Of(32, "isn't the base64 of a 32-byte key");
export const Signature = base64Of(64, "isn't the base64 of a 64-byte signature");

/** Account, device and Actor ids of other programs: any text that fits. */
export const ForeignId = text(connect.idBytes).min(1);
/** Group ids of any instance. */
export const WireGroupId = ForeignId.refine((value) => !/[/\\]/u.test(value), "has a slash or backslash");
export const Title = text(connect.titleBytes);
export const Generation = text(connect.generationBytes).min(1);
export const ClientVersion = text(connect.clientVersionBytes).min(1);
export const Digest = Sha256;

const origin = () => z.string().max(connect.originBytes, { error: "is too long", abort: true });

function originOf(value: string): URL | null {
  if (!URL.canParse(value)) return null;
  const url = new URL(value);
  return url.origin === value ? url : null;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/u;

/** Canonical HTTPS origin, or HTTP on loopback, which only a development issuer accepts. */
export const ServiceOrigin = origin().refine((value) => {
  const url = originOf(value);
  return url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.test(url.hostname));
}, "isn't a canonical HTTPS origin");

/** A host as a policy can name it: with other characters, it would say something else there. */
const PAGE_HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/u;

/** Canonical origin of a page. A Workbench may be open over plain HTTP. */
export const PageOrigin = origin().refine((value) => {
  const url = originOf(value);
  return (url?.protocol === "https:" || url?.protocol === "http:") && PAGE_HOST.test(url.hostname);
}, "isn't a canonical Web origin");
