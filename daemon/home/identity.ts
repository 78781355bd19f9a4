/** The instance's Ed25519 key, kept for the whole life of a Home (protocol.md, section 2). */
import type { Files } from "../platform/files.ts";
import type { Random } from "../platform/random.ts";

export class InstanceIdentity {
  /** Reads the key file, never repairing it; null when there is none. */
  static read(_files: Files, _path: string): InstanceIdentity | null {
    throw new Error("not yet");
  }
  /** Reads it, or makes it when missing. Call under the Home's lock. */
  static obtain(_files: Files, _random: Random, _path: string): Promise<InstanceIdentity> {
    throw new Error("not yet");
  }
  get instance_id(): string {
    throw new Error("not yet");
  }
  /** Base64 of the 32 bytes. */
  get public_key(): string {
    throw new Error("not yet");
  }
  /** Ed25519 signature, 64 bytes. */
  sign(_bytes: Uint8Array): Uint8Array {
    throw new Error("not yet");
  }
}
