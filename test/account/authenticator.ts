/** A passkey as a program, which does right what it isn't told to do wrong. */
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** What is wrong with an answer. */
export interface Mistakes {
  type?: string;
  origin?: string;
  rpId?: string;
  challenge?: string;
  counter?: number;
  /** User present (1), user verified (4). A new passkey adds its own (64). */
  flags?: number;
}

const PRESENT_AND_VERIFIED = 0x05;
const NEW_CREDENTIAL = 0x40;
/** CBOR of an Ed25519 key up to its 32 bytes (RFC 9053): OKP, EdDSA, Ed25519. */
const COSE_ED25519 = Buffer.from("a4010103272006215820", "hex");

function sha256(data: string | Uint8Array): Buffer {
  return createHash("sha256").update(data).digest();
}

function uint16(number: number): Buffer {
  return Buffer.from([number >> 8, number & 0xff]);
}

/** The data of a form that has a passkey. */
function optionsOf(page: string, action: string): { challenge: string } {
  const pattern = new RegExp(
    `<form method="post" action="${action}" data-passkey="[a-z]+" data-options="([^"]*)"`,
    "u",
  );
  const [, options] = pattern.exec(page) ?? [];
  if (options === undefined) throw new Error(`no passkey for ${action} in:\n${page}`);
  return JSON.parse(options.replaceAll("&quot;", '"').replaceAll("&amp;", "&")) as { challenge: string };
}

export class Authenticator {
  readonly id: string;
  readonly #origin: string;
  readonly #keys = generateKeyPairSync("ed25519");
  #counter = 0;

  constructor(origin: string, idBytes = 16) {
    this.id = randomBytes(idBytes).toString("base64url");
    this.#origin = origin;
  }

  /** Answers a page that asks for a new passkey. */
  make(page: string, action: string, mistakes: Mistakes = {}): string {
    const { challenge } = optionsOf(page, action);
    const key = Buffer.from(this.#keys.publicKey.export({ format: "jwk" }).x!, "base64url");
    const id = Buffer.from(this.id, "base64url");
    const flags = NEW_CREDENTIAL | (mistakes.flags ?? PRESENT_AND_VERIFIED);
    const credential = Buffer.concat([Buffer.alloc(16), uint16(id.length), id, COSE_ED25519, key]);
    const data = Buffer.concat([this.#data({ ...mistakes, flags }), credential]);
    const attestation = Buffer.concat([
      Buffer.from("a363666d74646e6f6e656761747453746d74a068617574684461746159", "hex"),
      uint16(data.length),
      data,
    ]);
    const response = {
      clientDataJSON: this.#client("webauthn.create", challenge, mistakes).toString("base64url"),
      attestationObject: attestation.toString("base64url"),
      transports: ["internal"],
    };
    return JSON.stringify({ id: this.id, rawId: this.id, type: "public-key", response });
  }

  /** Answers a page that asks for this passkey. */
  use(page: string, action: string, mistakes: Mistakes = {}): string {
    const { challenge } = optionsOf(page, action);
    const client = this.#client("webauthn.get", challenge, mistakes);
    const data = this.#data(mistakes);
    const response = {
      clientDataJSON: client.toString("base64url"),
      authenticatorData: data.toString("base64url"),
      signature: sign(null, Buffer.concat([data, sha256(client)]), this.#keys.privateKey).toString(
        "base64url",
      ),
    };
    return JSON.stringify({ id: this.id, rawId: this.id, type: "public-key", response });
  }

  #client(type: string, challenge: string, mistakes: Mistakes): Buffer {
    return Buffer.from(
      JSON.stringify({ type, challenge, origin: this.#origin, crossOrigin: false, ...pick(mistakes) }),
    );
  }

  #data({ rpId, flags, counter }: Mistakes): Buffer {
    this.#counter = counter ?? this.#counter + 1;
    const count = Buffer.alloc(4);
    count.writeUInt32BE(this.#counter);
    const host = rpId ?? new URL(this.#origin).hostname;
    return Buffer.concat([sha256(host), Buffer.from([flags ?? PRESENT_AND_VERIFIED]), count]);
  }
}

function pick({
  type,
  origin,
  challenge,
}: Mistakes): Partial<Record<"type" | "origin" | "challenge", string>> {
  return {
    ...(type !== undefined && { type }),
    ...(origin !== undefined && { origin }),
    ...(challenge !== undefined && { challenge }),
  };
}
