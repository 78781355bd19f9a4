import assert from "node:assert/strict";
import { chmodSync, cpSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DaemonClient } from "../../client/client.ts";
import { homePaths } from "../../client/paths.ts";
import { AccessTokens } from "../../daemon/access/access-tokens.ts";
import { runDaemon } from "../../daemon/assembly/daemon.ts";
import { openHome } from "../../daemon/home/home.ts";
import type { LedgerEvent } from "../../shared/events.ts";
import { verifies } from "../requirements.ts";
import { realDependencies, removeTemporaryDirectories, temporaryDirectory } from "./setting.ts";

const HOMES = join(import.meta.dirname, "../fixtures/homes");

interface Expected {
  instance_id: string;
  group_id: string;
  events: LedgerEvent[];
  unread_of_ann: number;
  question: { client_id: string; event_id: string };
  access_token: { id: string; token: string };
}

/** A copy as a checkout leaves it: Git keeps no modes. */
function copyOf(format: string): { root: string; expected: Expected } {
  const root = join(temporaryDirectory(), "home");
  cpSync(join(HOMES, format), root, { recursive: true });
  for (const name of ["", ...(readdirSync(root, { recursive: true }) as string[])]) {
    const path = join(root, name);
    chmodSync(path, statSync(path).isDirectory() ? 0o755 : 0o644);
  }
  const expected = JSON.parse(readFileSync(join(HOMES, `${format}.expected.json`), "utf8")) as Expected;
  return { root, expected };
}

for (const format of readdirSync(HOMES).filter((name) => /^\d+$/.test(name))) {
  describe(`a Home of format ${format} from back then`, () => {
    after(removeTemporaryDirectories);

    it("opens with its identity, Groups, Actors, history and tokens, and goes on", async () => {
      verifies("ID-005", "ID-007", "ID-008", "ID-016", "ID-018");
      const { root, expected } = copyOf(format);
      const { group_id: groupId } = expected;
      const paths = homePaths(root);
      const identity = readFileSync(paths.identity);
      const { token } = JSON.parse(readFileSync(paths.group(groupId).tokenFile("ann"), "utf8")) as {
        token: string;
      };
      const daemon = await runDaemon({ home: root, host: "127.0.0.1", port: 0 });
      const user = new DaemonClient(root, null);
      const ann = new DaemonClient(root, token);
      try {
        assert.equal((await user.result("daemon_status", {})).instance_id, expected.instance_id);
        const { events } = await user.result("ledger_tail", { group_id: groupId, limit: 200 });
        // Notices that have become due since may follow.
        assert.deepEqual(events.slice(0, expected.events.length), expected.events);
        const { actors } = await user.result("actor_list", { group_id: groupId });
        assert.deepEqual(
          actors.map(({ id, role, private_env: privateEnv }) => [id, role, privateEnv]),
          [
            ["lead", "foreman", []],
            ["ann", "peer", ["SERVICE_KEY"]],
          ],
        );
        assert.equal((await ann.result("inbox_peek", { group_id: groupId })).unread, expected.unread_of_ann);
        const { client_id: clientId, event_id: eventId } = expected.question;
        const again = await user.result("send", {
          group_id: groupId,
          text: "What is left to do?",
          to: ["lead"],
          message_mode: "request_reply",
          client_id: clientId,
        });
        assert.deepEqual([again.duplicate, again.event.id], [true, eventId]);
        await ann.result("send", { group_id: groupId, text: "Still here", to: ["user"] });
        const problems = await user.result("ledger_verify", { group_id: groupId });
        assert.deepEqual(problems.problems, []);
      } finally {
        user.close();
        ann.close();
        await daemon.stop();
      }
      assert.deepEqual(readFileSync(paths.identity), identity);
      assert.equal(statSync(root).mode & 0o777, 0o700);
    });

    it("still knows its access tokens", async () => {
      const { root, expected } = copyOf(format);
      const deps = realDependencies();
      const home = await openHome(deps, root);
      const tokens = new AccessTokens({ ...deps, settings: home.settings });
      assert.equal(tokens.verify(expected.access_token.token)?.id, expected.access_token.id);
      await tokens.close();
      home.lock.release();
    });
  });
}
