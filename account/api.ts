/** The API of daemons (docs/protocol.md#account): every endpoint as one row. */
import type { IncomingMessage } from "node:http";
import * as z from "zod";
import type { Clock } from "../platform/clock.ts";
import { checkLength, readBytes, readJson } from "../platform/http/body.ts";
import { fieldSentence, Refusal } from "../shared/errors.ts";
import { LIMITS } from "../shared/limits.ts";
import { text } from "../shared/model.ts";
import { HEADERS } from "../shared/names.ts";
import { GroupInvalidation } from "../shared/wire/v1/group-links.ts";
import { Registration } from "../shared/wire/v1/proofs.ts";
import type { Links } from "./connections/links.ts";
import type { Device, Devices } from "./devices/devices.ts";
import { shownDeviceName } from "./devices/devices.ts";
import { type DeviceGrants, GrantError } from "./devices/grants.ts";
import type { Directory } from "./directory/directory.ts";
import type { VersionGate } from "./directory/version-gate.ts";
import { type AddressOf, addressKey, FORM_TYPE, fieldsOf, headerOf, sendJson } from "./http.ts";
import type { Counted, Limits } from "./limits.ts";
import { type Handler, Routes } from "./routes.ts";

const { account } = LIMITS;
const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code";

const claimed = text(account.claimedBytes)
  // PostgreSQL can't store it.
  .refine((value) => !value.includes("\0"), "has a NUL character")
  .optional();
const DeviceCodeBody = z.strictObject({
  hostname: claimed,
  client_version: claimed,
  // What clients of other services send by RFC 8628, section 3.1.
  client_id: claimed,
  scope: claimed,
});
const DeviceTokenBody = z.strictObject({
  grant_type: text(account.claimedBytes),
  device_code: text(account.claimedBytes),
  client_id: claimed,
});
const DeviceNameBody = z.strictObject({ display_name: z.string() });
const EmptyBody = z.strictObject({});

export interface ApiDependencies {
  origin: string;
  clock: Clock;
  addressOf: AddressOf;
  limits: Limits;
  gate: VersionGate;
  devices: Devices;
  grants: DeviceGrants;
  directory: Directory;
  links: Links;
}

/** A request that passed everything in front of its endpoint. */
interface Call<Body> {
  body: Body;
  device: Device;
  address: string;
  clientVersion: string | undefined;
}

interface Endpoint<Body> {
  method: "GET" | "POST";
  path: string;
  /** Which minimum version applies. Retirement has none (VER-011). */
  gate: "none" | "membership" | "connect";
  /** Without a device's credential, `Call.device` must not be used. */
  open?: true;
  /** Answers a retired device too. */
  retired?: true;
  counted: Counted;
  body: z.ZodType<Body> | null;
  bytes: number;
  /** Takes a form as well, as RFC 8628 has it: fields that it doesn't know are ignored. */
  form?: z.ZodType<Body>;
  serve(call: Call<Body>): Promise<object>;
}

/** Lets each row have a type of body of its own. */
function endpoint<Body>(row: Endpoint<Body>): Endpoint<unknown> {
  return row;
}

function endpoints(deps: ApiDependencies): Endpoint<unknown>[] {
  const { origin, devices, grants, directory, links } = deps;
  const page = `${origin}/device`;
  return [
    endpoint({
      method: "POST",
      path: "/v1/device/code",
      gate: "membership",
      open: true,
      counted: "grants",
      body: DeviceCodeBody,
      bytes: account.requestBytes,
      form: DeviceCodeBody.strip(),
      async serve({ body, address }) {
        const claims = { hostname: body.hostname ?? null, version: body.client_version ?? null };
        const { deviceCode, userCode } = await grants.begin(claims, address);
        return {
          device_code: deviceCode,
          user_code: userCode,
          verification_uri: page,
          verification_uri_complete: `${page}?user_code=${userCode}`,
          expires_in: account.grantSeconds,
          interval: account.pollSeconds,
        };
      },
    }),
    endpoint({
      method: "POST",
      path: "/v1/device/token",
      gate: "membership",
      open: true,
      counted: "polls",
      body: DeviceTokenBody,
      bytes: account.requestBytes,
      form: DeviceTokenBody.strip(),
      async serve({ body, address }) {
        if (body.grant_type !== GRANT_TYPE) throw new GrantError("unsupported_grant_type");
        const { token, device, hostname } = await grants.poll(body.device_code, address);
        return { access_token: token, token_type: "Bearer", device_id: device, hostname };
      },
    }),
    endpoint({
      method: "GET",
      path: "/v1/device",
      gate: "membership",
      retired: true,
      counted: "device",
      body: null,
      bytes: 0,
      serve: async ({ device }) => ({
        device_id: device.id,
        hostname: device.hostname,
        disabled: device.retired,
        // This service makes no tunnels.
        connection: "not_started",
        account_label: device.accountLabel,
        display_name: shownDeviceName({ display_name: device.displayName, hostname: device.hostname }),
      }),
    }),
    endpoint({
      method: "POST",
      path: "/v1/device/name",
      gate: "membership",
      counted: "device",
      body: DeviceNameBody,
      bytes: account.requestBytes,
      serve: async ({ device, body, address }) => ({
        display_name: await devices.rename(device.member, device.id, body.display_name, address),
      }),
    }),
    endpoint({
      method: "POST",
      path: "/v1/device/disable",
      gate: "none",
      retired: true,
      counted: "device",
      body: EmptyBody,
      bytes: account.requestBytes,
      async serve({ device, address }) {
        await devices.retire(device.member, device.id, address);
        return { disabled: true };
      },
    }),
    endpoint({
      method: "GET",
      path: "/v1/connect/instances",
      gate: "connect",
      counted: "directory",
      body: null,
      bytes: 0,
      serve: async ({ device }) => directory.read(device),
    }),
    endpoint({
      method: "POST",
      path: "/v1/connect/instances",
      gate: "connect",
      counted: "directory",
      body: Registration,
      bytes: account.registrationBytes,
      serve: async ({ device, body, clientVersion }) => directory.register(device, body, clientVersion!),
    }),
    endpoint({
      method: "GET",
      path: "/v1/connect/groups",
      gate: "connect",
      counted: "groups",
      body: null,
      bytes: 0,
      serve: async ({ device }) => links.read(device),
    }),
    endpoint({
      method: "POST",
      path: "/v1/connect/groups",
      gate: "connect",
      counted: "groups",
      body: GroupInvalidation,
      bytes: account.groups.invalidationBytes,
      async serve({ device, body }) {
        await links.invalidate(device, body.invalidated);
        return links.read(device);
      },
    }),
  ];
}

/**
 * The endpoints. Each request passes in this order: method, origin, length, version, credential,
 * count, body, endpoint. A body is read only for a caller that may send it.
 */
export function apiRoutes(deps: ApiDependencies): Routes {
  const routes = new Routes();
  for (const row of endpoints(deps)) routes.add(row.method, row.path, serving(row, deps));
  return routes;
}

function serving(row: Endpoint<unknown>, deps: ApiDependencies): Handler {
  return async (request, response) => {
    // A page of any site could use up what others at its reader's address may do.
    if (request.headers.origin !== undefined)
      throw new Refusal("origin_denied", { remedy: "Only instances ask here, not pages." });
    const tooLong = checkLength(request, row.bytes);
    if (tooLong !== null) throw tooLong;
    const address = deps.addressOf(request);
    const clientVersion = headerOf(request, HEADERS.clientVersion);
    if (row.gate === "membership") deps.gate.checkMembership(clientVersion);
    if (row.gate === "connect")
      deps.gate.checkConnect(clientVersion, headerOf(request, HEADERS.membershipVersion));
    const device = row.open === true ? null : await deviceOf(request, deps, address);
    if (device?.retired === true && row.retired !== true) throw new Refusal("device_disabled");
    await deps.limits.count(row.counted, device?.id ?? addressKey(address));
    try {
      const body = row.body === null ? undefined : await bodyOf(request, row, deps.clock);
      sendJson(response, 200, await row.serve({ body, device: device!, address, clientVersion }));
    } catch (error) {
      if (!(error instanceof GrantError)) throw error;
      sendJson(response, 400, { error: error.code });
    }
  };
}

/** The device of the credential. A page's session is none (DIR-068). */
async function deviceOf(request: IncomingMessage, deps: ApiDependencies, address: string): Promise<Device> {
  const [, token] = /^Bearer ([A-Za-z0-9_-]{43})$/u.exec(headerOf(request, "authorization") ?? "") ?? [];
  const device = token === undefined ? null : await deps.devices.byToken(token);
  if (device !== null) return device;
  await deps.limits.count("failures", addressKey(address));
  throw new Refusal("unauthenticated", {
    specifics: "The device's credential is missing or unknown.",
    remedy: "Link this instance again.",
  });
}

async function bodyOf(request: IncomingMessage, row: Endpoint<unknown>, clock: Clock): Promise<unknown> {
  if (row.form !== undefined && FORM_TYPE.test(request.headers["content-type"] ?? "")) {
    const fields = fieldsOf((await readBytes(request, clock, row.bytes)).toString("utf8"));
    // An empty one counts as left out (RFC 8628, section 3.1).
    const given = Object.entries(fields).filter(([, value]) => value !== "");
    const { success, data } = row.form.safeParse(Object.fromEntries(given));
    if (!success) throw new GrantError("invalid_request");
    return data;
  }
  const parsed = row.body!.safeParse(await readJson(request, clock, row.bytes));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.code === "unrecognized_keys" ? (issue.keys[0] ?? "") : (issue?.path.join(".") ?? "");
  const problem =
    issue?.code === "unrecognized_keys" ? "isn't a field of this address" : "is missing or malformed";
  throw new Refusal("invalid_request", {
    specifics: fieldSentence(field.slice(0, 64), problem),
    remedy: "Check it against docs/protocol.md.",
  });
}
