/** Settings of the instance: one document in the Home. */
import * as z from "zod";
import { GroupId, Sha256 } from "../../shared/model.ts";
import { AccessToken, RemoteAccess } from "../../shared/operations/access.ts";

/** Format of the whole Home. A newer one is refused. */
export const HOME_FORMAT = 1;
export const SETTINGS_VERSION = 1;

const StoredAccessToken = AccessToken.extend({ digest: Sha256 });
export type StoredAccessToken = z.infer<typeof StoredAccessToken>;

const Exhibit = z.strictObject({
  host: z.string(),
  port: z.int().min(0).max(65535),
  groups: z.array(GroupId),
  /** Id of its access token. */
  token_id: z.string(),
});

export const Settings = z.strictObject({
  v: z.literal(SETTINGS_VERSION),
  format: z.int().min(1),
  created_at: z.string(),
  access_tokens: z.array(StoredAccessToken),
  remote_access: RemoteAccess,
  exhibit: Exhibit.nullable(),
});
export type Settings = z.infer<typeof Settings>;

export function defaultSettings(createdAt: string): Settings {
  return {
    v: SETTINGS_VERSION,
    format: HOME_FORMAT,
    created_at: createdAt,
    access_tokens: [],
    remote_access: { provider: "off", enabled: false, origin: null },
    exhibit: null,
  };
}
