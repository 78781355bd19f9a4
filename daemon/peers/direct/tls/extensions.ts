/** Extensions (RFC 8446, section 4.2): which exist, where they may appear, and blocks of them. */
import { refusal } from "./alert.ts";
import { Reader, u16, vector } from "./codec.ts";

/** Those that this profile understands, or understands enough to refuse. */
export const EXTENSIONS = {
  server_name: 0,
  supported_groups: 10,
  signature_algorithms: 13,
  application_layer_protocol_negotiation: 16,
  client_certificate_type: 19,
  server_certificate_type: 20,
  padding: 21,
  pre_shared_key: 41,
  early_data: 42,
  supported_versions: 43,
  cookie: 44,
  key_share: 51,
} as const;

export type ExtensionName = keyof typeof EXTENSIONS;

/** Messages with a block of extensions, as the table of section 4.2 abbreviates them. */
export type ExtendedMessage = "CH" | "SH" | "HRR" | "EE" | "CR" | "CT";

/** The table of section 4.2, for the extensions above. */
const PLACES: Record<ExtensionName, readonly ExtendedMessage[]> = {
  server_name: ["CH", "EE"],
  supported_groups: ["CH", "EE"],
  signature_algorithms: ["CH", "CR"],
  application_layer_protocol_negotiation: ["CH", "EE"],
  client_certificate_type: ["CH", "EE"],
  server_certificate_type: ["CH", "EE"],
  padding: ["CH"],
  pre_shared_key: ["CH", "SH"],
  early_data: ["CH", "EE"],
  supported_versions: ["CH", "SH", "HRR"],
  cookie: ["CH", "HRR"],
  key_share: ["CH", "SH", "HRR"],
};

const NAMES = new Map<number, ExtensionName>(
  Object.entries(EXTENSIONS).map(([name, type]) => [type, name as ExtensionName]),
);

/** A block of extensions: what each type holds. */
export type Extensions = Map<number, Buffer>;

/** Reads a block, at most one of each type. Whether they may be there is checked elsewhere. */
export function readBlock(reader: Reader): Extensions {
  const block: Extensions = new Map();
  const content = new Reader(reader.vector(2));
  while (content.left > 0) {
    const type = content.u16();
    const data = content.vector(2);
    if (block.has(type)) throw refusal("illegal_parameter", "A TLS extension appears twice.");
    block.set(type, data);
  }
  return block;
}

/** A known extension in a message that it isn't specified for: illegal_parameter (section 4.2). */
function checkPlace(type: number, message: ExtendedMessage): void {
  const name = NAMES.get(type);
  if (name !== undefined && !PLACES[name].includes(message))
    throw refusal("illegal_parameter", "A TLS extension is in a message where it isn't allowed.");
}

/** A message that asks (ClientHello, CertificateRequest): unknown extensions are ignored. */
export function checkRequest(block: Extensions, message: "CH" | "CR"): void {
  for (const type of block.keys()) checkPlace(type, message);
}

/**
 * A message that answers: only what was `offered` may come, else unsupported_extension (section
 * 4.2).
 */
export function checkAnswer(
  block: Extensions,
  message: "SH" | "HRR" | "EE" | "CT",
  offered: ReadonlySet<number>,
): void {
  for (const type of block.keys()) {
    // The one answer that needs no question: the cookie of HelloRetryRequest.
    const unasked = message === "HRR" && type === EXTENSIONS.cookie;
    if (!unasked && !offered.has(type))
      throw refusal(
        "unsupported_extension",
        "The peer answered a TLS extension that this side didn't offer.",
      );
    checkPlace(type, message);
  }
}

/** What `name` holds; a block without it is missing_extension (section 9.2). */
export function required(block: Extensions, name: ExtensionName): Buffer {
  const data = block.get(EXTENSIONS[name]);
  if (data === undefined) throw refusal("missing_extension", `The peer sent no TLS extension ${name}.`);
  return data;
}

export function extension(name: ExtensionName, ...data: Uint8Array[]): Buffer {
  return Buffer.concat([u16(EXTENSIONS[name]), vector(2, ...data)]);
}
