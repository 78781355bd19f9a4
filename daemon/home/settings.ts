/** Settings of the instance: one document in the Home. */
import * as z from "zod";
import { AccessToken, RemoteAccess } from "../../shared/operations/access.ts";
import { GroupId, Sha256 } from "../../shared/model.ts";

const StoredAccessToken = AccessToken.extend({ digest: Sha256 });
export type StoredAccessToken = z.infer<typeof StoredAccessToken>;

export const Exhibit = z.strictObject({
  host: z.string(),
  port: z.int(),
  groups: z.array(GroupId),
  /** Id of its access token. */
  token_id: z.string(),
});

export const Settings = z.strictObject({
  v: z.literal(1),
  /** Format of the whole Home; a newer one is refused. */
  format: z.literal(1),
  created_at: z.string(),
  access_tokens: z.array(StoredAccessToken),
  remote_access: RemoteAccess,
  exhibit: Exhibit.nullable(),
});
export type Settings = z.infer<typeof Settings>;
