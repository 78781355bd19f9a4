/** Access tokens of people's browsers: only digests are kept. */
import type { AccessToken } from "../../shared/operations/access.ts";
import type { JsonDocument } from "../home/documents.ts";
import type { Settings } from "../home/settings.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";

export interface NewAccessToken {
  name: string;
  kind: AccessToken["kind"];
  /** Empty for an administrator. */
  groups: string[];
}

export class AccessTokens {
  constructor(_deps: { clock: Clock; random: Random; settings: JsonDocument<Settings> }) {}
  create(_token: NewAccessToken): Promise<{ id: string; token: string }> {
    throw new Error("not yet");
  }
  list(): AccessToken[] {
    throw new Error("not yet");
  }
  /** Throws token_not_found. */
  revoke(_token_id: string): Promise<void> {
    throw new Error("not yet");
  }
  /** The record of a live token, or null. Notes the use. */
  verify(_token: string): AccessToken | null {
    throw new Error("not yet");
  }
  /** The record of a live token by its id, or null; for sessions that were opened with it. */
  find(_token_id: string): AccessToken | null {
    throw new Error("not yet");
  }
  onRevoked(_listener: (token_id: string) => void): () => void {
    throw new Error("not yet");
  }
  /** Writes pending times of last use. */
  close(): Promise<void> {
    throw new Error("not yet");
  }
}
