/** Sessions of browsers over a disk that fails. */
import assert from "node:assert/strict";
import { BrowserSessions, type SessionTokens } from "../../daemon/http/web/browser-sessions.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { Refusal } from "../../shared/errors.ts";
import type { AccessToken } from "../../shared/operations/access.ts";
import { refusal } from "../messaging/setting.ts";
import { SimulatedFiles } from "../simulation/files.ts";
import { ManualClock } from "../support/manual-clock.ts";

const PATH = "/secrets/sessions.json";

describe("a browser's session", () => {
  let files: SimulatedFiles;
  let tokens: MemoryTokens;
  let sessions: BrowserSessions;

  const opened = () =>
    BrowserSessions.open({ files, clock: new ManualClock(), random: new RealRandom(), path: PATH, tokens });

  beforeEach(async () => {
    files = new SimulatedFiles();
    files.mkdir("/secrets");
    tokens = new MemoryTokens();
    sessions = await opened();
  });

  function fill(): void {
    files.fault = ({ name, path }) => (name === "create" && path.includes("sessions") ? "ENOSPC" : null);
  }

  it("can be ended again after the disk was full, and stays ended then", async () => {
    const { id } = await tokens.create({ name: "phone" });
    const secret = await sessions.openWithToken(id);
    fill();
    await assert.rejects(sessions.end(secret), refusal("storage_full"));
    files.fault = null;
    await sessions.end(secret);
    assert.equal(sessions.find(secret), null);
    assert.equal((await opened()).find(secret), null);
    assert.ok(tokens.find(id) !== null);
  });

  it("of the owner ends with its token, although the disk has no room to say so", async () => {
    const secret = await sessions.openForOwner("Browser");
    fill();
    await assert.rejects(sessions.end(secret), refusal("storage_full"));
    assert.equal(sessions.find(secret), null);
    assert.equal((await opened()).find(secret), null);
    assert.equal(tokens.all.size, 0);
  });

  it("of the owner stays when its token can't be revoked for a newer one", async () => {
    const secret = await sessions.openForOwner("Browser");
    tokens.most = 1;
    tokens.isStuck = true;
    await assert.rejects(sessions.openForOwner("Another"), refusal("storage_full"));
    assert.ok(sessions.find(secret) !== null);
    tokens.isStuck = false;
    const another = await sessions.openForOwner("Another");
    assert.equal(sessions.find(secret), null);
    assert.ok(sessions.find(another) !== null);
  });
});

class MemoryTokens implements SessionTokens {
  readonly all = new Map<string, AccessToken>();
  most = 10;
  /** Whether none can be revoked now. */
  isStuck = false;
  #count = 0;

  find(tokenId: string): AccessToken | null {
    return this.all.get(tokenId) ?? null;
  }

  use(tokenId: string): AccessToken | null {
    return this.find(tokenId);
  }

  async create({ name }: { name: string }): Promise<{ id: string }> {
    if (this.all.size >= this.most) throw new Refusal("limit_reached");
    this.#count += 1;
    const id = `t_${this.#count}`;
    const at = { created_at: "2026-01-01T00:00:00.000Z", last_used_at: null };
    this.all.set(id, { id, name, kind: "administrator", groups: [], ...at });
    return { id };
  }

  async revoke(tokenId: string): Promise<void> {
    if (this.isStuck) throw new Refusal("storage_full");
    this.all.delete(tokenId);
  }
}
