/** Asks this instance's own identity at the origin that it advertises, as others would. */
import type { Clock } from "../../../platform/clock.ts";
import type { HttpClient } from "../../../platform/http/client.ts";
import type { Random } from "../../../platform/random.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { ResultOf } from "../../../shared/operations/registry.ts";
import { WebTransport } from "../https/web-transport.ts";

interface Asked {
  clock: Clock;
  http: HttpClient;
  random: Random;
  identity: { instance_id: string; public_key: string };
  signal: AbortSignal;
  /** Null when none is advertised. */
  origin: string | null;
  /** Null without a binding: then nobody asks for an identity yet. */
  registered: { device_id: string; public_origin: string | null } | null;
}

export async function checkOrigin({
  clock,
  http,
  random,
  identity,
  signal,
  origin,
  registered,
}: Asked): Promise<ResultOf<"remote_access_check">> {
  if (origin === null) {
    return {
      origin,
      reached: false,
      problem: "No origin is set. Set it with 'svc origin set https://HOST'.",
    };
  }
  if (registered === null) {
    const problem = "This instance isn't linked to an account, so it proves its identity to nobody yet.";
    return { origin, reached: false, problem };
  }
  if (registered.public_origin === null) {
    const problem =
      "An address of this machine isn't told to an account service elsewhere. Set one that other machines reach.";
    return { origin, reached: false, problem };
  }
  const transport = new WebTransport({ clock, random, http });
  const { instance_id: instanceId, public_key: publicKey } = identity;
  const { stranger } = await transport.challenge(
    { via: "web", origin, instance_id: instanceId, device_id: registered.device_id, public_key: publicKey },
    clock.monotonic() + LIMITS.connect.identityAnswerSeconds * 1000,
    signal,
  );
  return { origin, reached: stranger === null, problem: stranger };
}
