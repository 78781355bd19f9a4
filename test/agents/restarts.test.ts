/** The real agents over restarts: they go on in their conversation. */

import assert from "node:assert/strict";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/until.ts";
import { Crew, PATIENCE } from "./setting.ts";

describe("real agents over restarts", function () {
  this.timeout(4 * PATIENCE);
  const crew = new Crew();

  const sessionFiles = (folder: string) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => /(?:projects|sessions)\/.*\.jsonl$/.test(name))
      .map((name) => join(folder, name));

  for (const name of ["claude", "codex"] as const) {
    it(`${name} goes on in its conversation, and begins a new one where it can't`, async () => {
      if (name === "claude") await crew.agents.addClaude(name);
      else await crew.agents.addCodex(name);
      const address = { group_id: crew.agents.group_id, actor_id: name };
      const prompted = async (text: string): Promise<string> => {
        const before = crew.agents.model.heard.length;
        await crew.agents.reaches(await crew.agents.send(text, [name]), name, "accepted");
        const heard = await until(
          `the model hears ${text}`,
          () => crew.agents.model.heard.slice(before).find((request) => request.includes(text)) ?? null,
          PATIENCE,
        );
        await crew.agents.becomes(name, "idle");
        return heard;
      };
      await crew.agents.start(name);
      await prompted("first-words");
      await crew.agents.client.result("actor_stop", address);
      assert.equal((await crew.agents.presence(name)).reason, "stopped by a person");
      const { conversation } = await crew.agents.client.result("actor_start", address);
      assert.deepEqual(conversation, { continued: true, lost: "" });
      assert.match(await prompted("second-words"), /first-words/);

      const anew = await crew.agents.client.result("actor_restart", { ...address, new_conversation: true });
      assert.deepEqual(anew.conversation, { continued: false, lost: "" });
      assert.doesNotMatch(await prompted("third-words"), /first-words/);

      // Claude writes to the file once more when it ends.
      await crew.agents.client.result("actor_stop", address);
      for (const file of sessionFiles(join(crew.agents.root, name))) rmSync(file);
      const lost = await crew.agents.client.result("actor_start", address);
      assert.deepEqual(lost.conversation, { continued: false, lost: "its file is gone" });
      assert.doesNotMatch(await prompted("fourth-words"), /third-words/);
    });
  }
});
