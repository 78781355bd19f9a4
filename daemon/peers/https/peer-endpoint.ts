/**
 * What other instances ask of the Web listener (docs/protocol.md#authority): an identity proof, and
 * a request of which nothing is read before its proof is the peer's.
 */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../platform/clock.ts";
import { checkJsonType, checkLength, readChunks, readJson } from "../../../platform/http/body.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { HEADERS } from "../../../shared/names.ts";
import { parseStrictJsonBytes, StrictJsonError } from "../../../shared/strict-json.ts";
import { PRODUCT_VERSION } from "../../../shared/version.ts";
import { fromBase64Url } from "../../../shared/wire/v1/base64.ts";
import { Uuid } from "../../../shared/wire/v1/fields.ts";
import {
  ConnectPeerAuthorization,
  ConnectPeerOperation,
  type ConnectPeerResponse,
  contentProblem,
} from "../../../shared/wire/v1/peer.ts";
import type { ConnectGroupCheck, ConnectIdentityProof } from "../../../shared/wire/v1/proofs.ts";
import { identityStatement } from "../../../shared/wire/v1/signing.ts";
import type { AdmittingReceiver } from "../transport.ts";
import { PIECE_CHARACTERS } from "../wire/base64-pieces.ts";
import { JsonBody } from "../wire/json-body.ts";
import { type Signer, signStatement } from "../wire/statements.ts";

interface Dependencies {
  clock: Clock;
  identity: Signer & { instance_id: string };
  receiver: Pick<AdmittingReceiver, "admit">;
  /** How this instance is registered now; null without a binding. */
  registered: () => { device_id: string; public_origin: string | null } | null;
  /** The answer to a question about a selected Group. Throws Refusal. */
  checkGroup: (body: unknown) => ConnectGroupCheck;
}

const { connect } = LIMITS;

export class PeerEndpoint {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Throws invalid_args, or connect_unavailable without a binding. */
  identity(nonce: string | undefined): ConnectIdentityProof {
    const { clock, identity, registered } = this.#deps;
    if (!Uuid.safeParse(nonce).success) {
      const details = { field: "nonce" };
      throw new Refusal("invalid_args", { specifics: "'nonce' isn't a UUID.", details });
    }
    const binding = registered();
    if (binding === null) {
      throw new Refusal("connect_unavailable", { specifics: "This instance isn't linked to an account." });
    }
    return signStatement(identityStatement, identity, {
      instance_id: identity.instance_id,
      device_id: binding.device_id,
      public_origin: binding.public_origin,
      client_version: PRODUCT_VERSION,
      nonce: nonce!,
      expires_at: new Date(clock.now() + connect.identitySeconds * 1000).toISOString(),
    });
  }

  /** Whether a selected Group is still there, for the account service. Throws Refusal. */
  async groupCheck(request: IncomingMessage): Promise<ConnectGroupCheck> {
    const refusal = checkLength(request, connect.groupProofBytes);
    if (refusal !== null) throw refusal;
    return this.#deps.checkGroup(await readJson(request, this.#deps.clock, connect.groupProofBytes));
  }

  /**
   * Answers a request. Without a valid proof it is refused before a byte of its body is read. What
   * breaks a rule of its contents gets a signed refusal (PEER-058). Throws Refusal: none of
   * them is signed.
   */
  async receive(request: IncomingMessage): Promise<ConnectPeerResponse> {
    const proof = proofOf(request);
    checkJsonType(request);
    const refusal = checkLength(request, connect.bodyBytes);
    if (refusal !== null) throw refusal;
    const admitted = await this.#deps.receiver.admit(proof, { via: "web" });
    try {
      const value = await this.#value(request);
      const operation = ConnectPeerOperation.safeParse(value);
      if (operation.success) return await admitted.receive(operation.data);
      const problem = contentProblem(value);
      const refused = problem === null ? null : await admitted.refuse({ operation: value, problem });
      if (refused === null) throw notAnOperation();
      return refused;
    } finally {
      admitted.leave();
    }
  }

  async #value(request: IncomingMessage): Promise<unknown> {
    const body = await this.#body(request);
    try {
      // Measured before anything is built from it.
      body.outline();
      return body.value((operation) => (operation as { blobs?: unknown } | null)?.blobs);
    } catch (error) {
      if (error instanceof StrictJsonError || error instanceof RangeError) throw notAnOperation();
      throw error;
    }
  }

  async #body(request: IncomingMessage): Promise<JsonBody> {
    const body = new JsonBody(connect.bodyBytes);
    await readChunks(request, this.#deps.clock, connect.bodyBytes, (chunk) => {
      for (let at = 0; at < chunk.length; at += PIECE_CHARACTERS) {
        body.take(chunk.subarray(at, at + PIECE_CHARACTERS));
      }
    });
    return body;
  }
}

function notAnOperation(): Refusal {
  return new Refusal("invalid_request", { specifics: "The body isn't a peer operation." });
}

/** Throws connect_peer_denied for anything but one well-formed proof. */
function proofOf(request: IncomingMessage): ConnectPeerAuthorization {
  const [header, ...others] = request.headersDistinct[HEADERS.connectProof] ?? [];
  const bytes =
    header === undefined || others.length > 0 || header.length > connect.proofBytes
      ? null
      : fromBase64Url(header);
  try {
    const proof = ConnectPeerAuthorization.safeParse(parseStrictJsonBytes(bytes ?? new Uint8Array()));
    if (proof.success) return proof.data;
  } catch {
    // Not JSON.
  }
  throw new Refusal("connect_peer_denied");
}
