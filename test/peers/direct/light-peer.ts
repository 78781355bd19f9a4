/**
 * An instance that speaks Direct over the real network and does with requests what a test wants:
 * the product's Direct, without a daemon.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { homePaths } from "../../../client/paths.ts";
import { InstanceIdentity } from "../../../daemon/home/identity.ts";
import { Direct } from "../../../daemon/peers/direct/direct.ts";
import { TlsLinks } from "../../../daemon/peers/direct/tls-links.ts";
import type { PeerRequest } from "../../../daemon/peers/transport.ts";
import { requestDigest } from "../../../daemon/peers/wire/digests.ts";
import { signStatement } from "../../../daemon/peers/wire/statements.ts";
import { RealClock } from "../../../platform/real-clock.ts";
import { RealFiles } from "../../../platform/real-files.ts";
import { RealNetwork } from "../../../platform/real-network.ts";
import { RealRandom } from "../../../platform/real-random.ts";
import type { Receipt } from "../../../shared/wire/v1/message.ts";
import type { ConnectPeerResponse } from "../../../shared/wire/v1/peer.ts";
import { responseStatement } from "../../../shared/wire/v1/signing.ts";
import { MemoryLog } from "../../operations/support.ts";
import { cancellationDigest, messageDigest } from "../../wire/digests.ts";

export class LightPeer {
  readonly group_id = "g_00000000000a";
  readonly identity: InstanceIdentity;
  /** What was delivered, with how often. */
  readonly received = new Map<string, { receipt: Receipt; text: string; times: number }>();
  /** Every operation that came. */
  readonly asked: string[] = [];
  /** What becomes of a request; to be replaced. */
  answer: (request: PeerRequest) => Promise<ConnectPeerResponse> = async (request) => this.properly(request);
  readonly #root: string;
  #direct!: Direct;

  private constructor(root: string, identity: InstanceIdentity) {
    this.#root = root;
    this.identity = identity;
  }

  static async started(): Promise<LightPeer> {
    const root = mkdtempSync(join(tmpdir(), "svc-peer-"));
    const identity = await InstanceIdentity.obtain(
      new RealFiles(),
      new RealRandom(),
      homePaths(root).identity,
    );
    const peer = new LightPeer(root, identity);
    await peer.start();
    return peer;
  }

  async start(): Promise<void> {
    const [clock, random, network] = [new RealClock(), new RealRandom(), new RealNetwork()];
    this.#direct = await Direct.open({
      files: new RealFiles(),
      clock,
      random,
      log: new MemoryLog(),
      links: new TlsLinks({ network, clock, random, identity: this.identity }),
      paths: homePaths(this.#root),
      identity: this.identity,
      hostname: "peer",
      interfaces: () => [],
      findGroup: (groupId) =>
        groupId === this.group_id ? { generation: "generation", title: "There" } : null,
      allowance: () => ({ records: 0, bytes: 0 }),
      receiver: {
        receive: (request) => {
          this.asked.push(request.operation.op);
          return this.answer(request);
        },
        refuse: () => Promise.reject(new Error("nothing broken is sent to it")),
      },
    });
    await this.#direct.start();
  }

  join(invitation: string): Promise<string> {
    return this.#direct.join(this.group_id, invitation);
  }

  /** Not reachable any more, until `start`. */
  stop(): Promise<void> {
    return this.#direct.close();
  }

  async dispose(): Promise<void> {
    await this.#direct.close();
    rmSync(this.#root, { recursive: true, force: true });
  }

  /** As a receiver answers that keeps everything in memory. */
  properly({ proof, operation }: PeerRequest, signer = this.identity): ConnectPeerResponse {
    const take = (deliveryId: string, messageSha256: string, text: string): Receipt => {
      const known = this.received.get(deliveryId);
      if (known !== undefined) {
        known.times += 1;
        return known.receipt;
      }
      const receipt: Receipt = {
        delivery_id: deliveryId,
        message_sha256: messageSha256,
        event_id: randomUUID().replaceAll("-", ""),
        delivered_at: new Date().toISOString(),
      };
      this.received.set(deliveryId, { receipt, text, times: 1 });
      return receipt;
    };
    let result: unknown;
    if (operation.op === "catalog") {
      result = { groups: [{ group_id: this.group_id, title: "There", actors: [] }], next: null };
    } else if (operation.op === "receipt") {
      result = { receipt: this.received.get(operation.delivery_id)?.receipt ?? null };
    } else if (operation.op === "deliver") {
      const { message } = operation;
      result = { receipt: take(message.delivery_id, messageDigest(message), message.text) };
    } else {
      const { cancellation } = operation;
      result = { receipt: take(cancellation.delivery_id, cancellationDigest(cancellation), "") };
    }
    return signStatement(responseStatement, signer, {
      request_id: proof.request_id,
      request_sha256: requestDigest(proof),
      result: { ok: true, result },
    });
  }
}
