/** The extension's manifest against the tables that it is generated from. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { COMMANDS, type CommandName, commandId } from "../../extension/contributions/commands.ts";
import { CONTEXT } from "../../extension/contributions/contribution.ts";
import { manifestFiles } from "../../extension/contributions/manifest.ts";
import { MENUS } from "../../extension/contributions/menus.ts";
import { VIEWS, WELCOME } from "../../extension/contributions/views.ts";

const EXTENSION = join(import.meta.dirname, "../../extension");

describe("the extension's manifest", () => {
  const files = manifestFiles();
  const manifest = JSON.parse(files["package.json"]!) as {
    activationEvents: string[];
    enabledApiProposals?: unknown;
    icon: string;
    contributes: {
      viewsContainers: { activitybar: { icon: string }[] };
      walkthroughs: { steps: { description: string; completionEvents: string[] }[] }[];
    };
  };

  it("is what the tables say (node --import=tsx build/extension-manifest.ts)", () => {
    for (const [name, text] of Object.entries(files))
      assert.equal(readFileSync(join(EXTENSION, name), "utf8"), text, name);
  });

  it("activates without `*` and proposes no API", () => {
    assert.deepEqual(manifest.activationEvents, ["onStartupFinished", "onUri"]);
    assert.equal(manifest.enabledApiProposals, undefined);
  });

  it("has a text for every key, and no other", () => {
    const texts = Object.keys(JSON.parse(files["package.nls.json"]!) as object);
    const used = [...files["package.json"]!.matchAll(/"%([^%"]+)%"/g)].map(([, key]) => key!);
    assert.deepEqual([...new Set(used)].sort(), texts.sort());
  });

  it("names only commands, views and pictures that are there", () => {
    const commands = new Set(Object.keys(COMMANDS).map((name) => commandId(name as CommandName)));
    for (const { command } of Object.values(MENUS).flat()) assert.ok(commands.has(command), command);
    const views = new Set<string>(Object.values(VIEWS).map(({ id }) => id));
    for (const { view, contents } of WELCOME) {
      assert.ok(views.has(view), view);
      for (const [, command] of contents.matchAll(/\(command:([\w.]+)\)/g))
        assert.ok(commands.has(command!) || command!.startsWith("vscode."), command);
    }
    const pictures = [
      manifest.icon,
      ...manifest.contributes.viewsContainers.activitybar.map(({ icon }) => icon),
    ];
    for (const picture of pictures) assert.ok(existsSync(join(EXTENSION, picture)), picture);
  });

  it("has in each step of the walkthrough the command that does it, and when it is done", () => {
    const texts = JSON.parse(files["package.nls.json"]!) as Record<string, string>;
    const steps = manifest.contributes.walkthroughs.flatMap(({ steps: some }) => some);
    assert.equal(steps.length, 5);
    for (const { description, completionEvents } of steps) {
      const [, id] = /\(command:svc\.(\w+)\)$/.exec(texts[description.slice(1, -1)]!) ?? [];
      assert.ok(id !== undefined && id in COMMANDS, description);
      assert.notEqual(COMMANDS[id as CommandName].palette, false, id);
      const [ran, ...done] = completionEvents;
      assert.equal(ran, `onCommand:svc.${id}`);
      for (const event of done) {
        const [, key] =
          /^onContext:([\w.]+)(?: == \w+)?(?: && activeEditor == gettingStartedPage)?$/.exec(event) ?? [];
        assert.ok((Object.values(CONTEXT) as (string | undefined)[]).includes(key), event);
      }
    }
    assert.equal(steps.filter(({ completionEvents }) => completionEvents.length === 3).length, 3);
  });
});
