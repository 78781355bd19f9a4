/**
 * Lets a page of this instance show the Workbench of another one in a frame
 * (docs/protocol.md#workbench-frames). The proof embeds; it signs no one in.
 */
import * as z from "zod";
import type { Clock } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { FRAME_PATH } from "../../../shared/names.ts";
import type { DirectoryEntry } from "../../../shared/wire/v1/account.ts";
import { toBase64Url } from "../../../shared/wire/v1/base64.ts";
import { InstanceId, Uuid } from "../../../shared/wire/v1/fields.ts";
import type { ConnectFrameProof } from "../../../shared/wire/v1/proofs.ts";
import { frameStatement } from "../../../shared/wire/v1/signing.ts";
import { validity } from "../../../shared/wire/v1/timely.ts";
import type { WebTransport } from "../https/web-transport.ts";
import { type Signer, signStatement } from "../wire/statements.ts";
import { routeTo } from "./account-authority.ts";
import type { AccountDirectory } from "./account-directory.ts";
import type { Membership } from "./membership.ts";

const { connect } = LIMITS;

const Asked = z.strictObject({ instance_id: InstanceId, frame_id: Uuid });

/** A page that asks, and whether its person may still ask. */
export interface FramingPage {
  origin: string;
  /** Throws Refusal when the person has lost the access. */
  check(): void;
  /** Ends when the page no longer waits. */
  signal: AbortSignal;
}

export interface OpenedFrame {
  /** Of the other instance. */
  origin: string;
  /** Its Workbench for this one frame, as an address. A form that sends the proof is better. */
  url: string;
  proof: ConnectFrameProof;
}

interface Dependencies {
  clock: Clock;
  random: Random;
  identity: Signer & { instance_id: string };
  membership: Membership;
  directory: AccountDirectory;
  transport: Pick<WebTransport, "challenge">;
}

type Route = Extract<NonNullable<ReturnType<typeof routeTo>>, { via: "web" }>;

export class FrameOpening {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /**
   * Asks the instance for its identity and signs the proof for one frame of this page. Throws
   * invalid_args, account_unavailable, connect_instance_unknown, connect_route_missing,
   * connect_host_overlap, connect_unreachable, or what `page.check` throws.
   */
  async open(body: unknown, page: FramingPage): Promise<OpenedFrame> {
    const asked = Asked.safeParse(body);
    if (!asked.success) {
      const specifics = "The body isn't {instance_id, frame_id}, with the frame's id as a UUID.";
      throw new Refusal("invalid_args", { specifics });
    }
    const { instance_id: instanceId, frame_id: frameId } = asked.data;
    const { clock, transport } = this.#deps;
    const route = this.#route(instanceId, page.origin);
    const deadline = clock.monotonic() + connect.identityAnswerSeconds * 1000;
    const { stranger } = await transport.challenge(route, deadline, page.signal);
    // Both may have changed while the other instance took its time.
    page.check();
    const current = this.#route(instanceId, page.origin);
    if (stranger !== null) throw new Refusal("connect_unreachable", { specifics: stranger });
    if (current.origin !== route.origin || current.device_id !== route.device_id) {
      const specifics = "The other instance was linked again, or moved, while it was asked.";
      throw new Refusal("connect_unreachable", { specifics, remedy: "Try again." });
    }
    const proof = this.#sign(current, frameId, page.origin);
    const encoded = toBase64Url(Buffer.from(JSON.stringify(proof)));
    return { origin: current.origin, url: `${current.origin}${FRAME_PATH}?proof=${encoded}`, proof };
  }

  /** The origins that a page here may frame: those that `open` doesn't refuse at once. */
  origins(pageOrigin: string): string[] {
    const { directory, identity } = this.#deps;
    return (directory.current?.instances ?? [])
      .filter((entry) => entry.instance_id !== identity.instance_id)
      .flatMap((entry) => {
        try {
          return [this.#route(entry.instance_id, pageOrigin).origin];
        } catch {
          return [];
        }
      });
  }

  #sign(target: Route, frameId: string, parentOrigin: string): ConnectFrameProof {
    const { clock, random, identity, membership } = this.#deps;
    const { account_origin: accountOrigin, device_id: deviceId } = membership.binding!;
    return signStatement(frameStatement, identity, {
      account_origin: accountOrigin,
      source_instance_id: identity.instance_id,
      source_device_id: deviceId,
      target_instance_id: target.instance_id,
      target_device_id: target.device_id,
      parent_origin: parentOrigin,
      frame_id: frameId,
      nonce: random.uuid(),
      ...validity(clock.now(), connect.frameSeconds),
    });
  }

  /** Of the directory as it is confirmed now. */
  #route(instanceId: string, pageOrigin: string): Route {
    const { membership, directory, identity } = this.#deps;
    const { binding } = membership;
    const { current } = directory;
    if (binding === null || current === null) {
      const specifics = directory.trouble ?? "The account service hasn't confirmed this instance yet.";
      throw new Refusal("account_unavailable", { specifics });
    }
    const entry = current.instances.find((one) => one.instance_id === instanceId);
    if (entry === undefined || instanceId === identity.instance_id)
      throw new Refusal("connect_instance_unknown");
    const route = routeTo(entry, binding.account_origin);
    if (route?.via !== "web") throw new Refusal("connect_route_missing");
    refuseOverlap(entry, current.instances, pageOrigin);
    return route;
  }
}

/**
 * Cookies don't know ports, so two instances under one hostname would see each other's sign-ins
 * (rule 15).
 */
function refuseOverlap(
  target: DirectoryEntry,
  instances: readonly DirectoryEntry[],
  pageOrigin: string,
): void {
  const hostname = hostnameOf(target.public_origin!);
  const twin = instances.find(
    ({ instance_id: instanceId, public_origin: origin }) =>
      instanceId !== target.instance_id && origin !== null && hostnameOf(origin) === hostname,
  );
  if (twin === undefined && hostnameOf(pageOrigin) !== hostname) return;
  const other = twin === undefined ? "This page" : `The instance “${twin.display_name}”`;
  const specifics = `${other} has the hostname ${hostname} as well, and browsers don't keep sign-ins of different ports apart.`;
  throw new Refusal("connect_host_overlap", { specifics, details: { hostname } });
}

function hostnameOf(origin: string): string {
  return new URL(origin).hostname.replace(/\.$/u, "");
}
