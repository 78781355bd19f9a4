/** What the interface writes down a second time holds against where it comes from. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { OPERATIONS } from "../../shared/operations/registry.ts";
import { THEME_CHOICES, themeFor } from "../../webview/apps/workbench/appearance.ts";
import { breadthOf, Layout } from "../../webview/apps/workbench/layout.ts";
import { ICONS } from "../../webview/controls/icons.ts";
import { prepare } from "../../webview/hosts/http/routes.ts";
import { FEED_KINDS } from "../../webview/state/feed-store.ts";

describe("the interface's own tables", () => {
  it("have the code points of the icon font", () => {
    const mapping = createRequire(import.meta.url)("@vscode/codicons/src/template/mapping.json") as Record<
      string,
      string[]
    >;
    for (const [name, point] of Object.entries(ICONS))
      assert.ok(mapping[String(point)]?.includes(name), name);
  });

  it("ask for no more kinds than a page takes", () => {
    const input = { group_id: "g_000000000000", kinds: FEED_KINDS };
    assert.ok(OPERATIONS.get("ledger_tail")?.input.safeParse(input).success);
  });

  it("put an input's fields where the route wants them", () => {
    assert.deepEqual(
      prepare("ledger_tail", { group_id: "g_1", limit: 5, kinds: ["a", "b"], before: undefined }),
      {
        method: "GET",
        url: "/api/v1/groups/g_1/ledger/tail?limit=5&kinds=a&kinds=b",
      },
    );
    assert.deepEqual(prepare("draft_put", { group_id: "g/1", draft: null }), {
      method: "PUT",
      url: "/api/v1/groups/g%2F1/draft",
      body: '{"draft":null}',
    });
    assert.deepEqual(prepare("connect_direct_approve", { group_id: "g_1", id: "direct-1" }), {
      method: "POST",
      url: "/api/v1/connect/direct",
      body: '{"action":"approve","group_id":"g_1","id":"direct-1"}',
    });
  });
});

describe("the arrangement", () => {
  it("follows the width, and a choice of theme outweighs the system", () => {
    assert.deepEqual([1100, 1099, 700, 699].map(breadthOf), ["wide", "medium", "medium", "narrow"]);
    assert.equal(themeFor("system", { dark: true, contrast: true }), "hc-dark");
    assert.equal(themeFor("light", { dark: true, contrast: true }), "light");
    assert.equal(THEME_CHOICES.length, 5);
  });

  it("is remembered, and what was remembered wrongly is mended", () => {
    const memory = new Map<string, unknown>([["layout", { groups: 9999, collapsed: ["actors", "x"] }]]);
    const host = {
      remember: (key: string, value: unknown) => memory.set(key, value),
      recall: (key: string) => memory.get(key),
    };
    const layout = new Layout(host, 1200);
    assert.equal(layout.width("groups"), 480);
    assert.ok(layout.collapsed("actors"));
    layout.setWidth("groups", 300);
    layout.toggle("actors");
    assert.deepEqual(memory.get("layout"), { groups: 300, actors: 280, collapsed: [] });
  });
});
