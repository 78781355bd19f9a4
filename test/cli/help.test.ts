/** Help comes from the command table and covers all of it. */
import assert from "node:assert/strict";
import { COMMANDS } from "../../cli/table.ts";
import { GROUPS } from "../../cli/tables/options.ts";
import { OPERATIONS } from "../../shared/operations/registry.ts";
import { run } from "./svc.ts";

describe("help of the command line", () => {
  it("has a command for every operation but those that only other ports call", () => {
    const called = new Set<string>(COMMANDS.flatMap(({ operations }) => operations ?? []));
    assert.deepEqual(
      [...OPERATIONS.keys()].filter((name) => !called.has(name)),
      [
        "folder_list",
        "tools_listed",
        "runtime_activity_snapshot",
        "hook_decide",
        "send_files",
        "message_upload_preflight",
        "draft_get",
        "draft_put",
        "bootstrap",
        "ledger_thread",
        "ledger_since",
        "ledger_find",
        "connect_send_files",
        "connect_group_status",
        "connect_peer_receive",
        "notification_claim",
        "push_prepare",
        "push_list",
        "push_subscribe",
        "push_unsubscribe",
        "push_test",
      ],
    );
  });

  it("describes every command, with every option of it", async () => {
    await inTurns(COMMANDS, async (command) => {
      const { code, out, err } = await run([...command.words.split(" "), "--help"]);
      assert.equal(code, 0, err);
      assert.ok(out.includes(`Usage: svc ${command.words}`), out);
      assert.ok((out.split("\n")[0] ?? "").length > 10, `svc ${command.words} has no summary`);
      for (const option of [...(command.options ?? []), { name: "json" }, { name: "home" }])
        assert.ok(out.includes(`--${option.name}`), `svc ${command.words} --${option.name}`);
    });
  });

  it("lists every group of commands, and what follows a command", async () => {
    for (const group of [...Object.keys(GROUPS), "connect", "account-service"]) {
      const { code, out } = await run([group, "--help"]);
      assert.equal(code, 0);
      for (const { words } of COMMANDS.filter((command) => command.words.startsWith(`${group} `)))
        assert.match(out, new RegExp(`^  ${words.slice(group.length + 1)} `, "m"));
    }
  });

  it("lists everything without arguments, and never takes a secret as one", async () => {
    const { code, out } = await run([]);
    assert.equal(code, 0);
    for (const { words } of COMMANDS) assert.match(out, new RegExp(`^  ${words.split(" ")[0]} `, "m"));
    for (const { options } of COMMANDS)
      for (const { name, value } of options ?? [])
        assert.ok(
          value === undefined || !/token|secret|password|invitation/.test(name),
          `--${name} ${value}`,
        );
  });
});

/** Two processes at a time: the machine has two cores. */
async function inTurns<Item>(items: readonly Item[], visit: (item: Item) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += 2) await Promise.all(items.slice(at, at + 2).map(visit));
}
