import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { deriveTools } from "../../build/contracts.ts";
import layers from "../../build/layers.cjs";
import { COMMANDS } from "../../cli/table.ts";
import { specialRoutes } from "../../daemon/http/exchange/routes.ts";
import { accessCookieName, ENVIRONMENT, HEADERS, SIGNING_DOMAINS } from "../../shared/names.ts";
import { HTTP_ROUTES } from "../../shared/operations/http-routes.ts";
import { OPERATIONS } from "../../shared/operations/registry.ts";
import { verifies } from "../requirements.ts";

/** Path and text of every source of the product. */
function sources(): [path: string, text: string][] {
  return layers.productFolders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((name) => join(folder, name))
      .filter((path) => path.endsWith(".ts") && statSync(path).isFile())
      .map((path): [string, string] => [path, readFileSync(path, "utf8")]),
  );
}

/** Everything by which somebody outside can call the product. */
function reachable(): string[] {
  return [
    ...OPERATIONS.keys(),
    ...[...HTTP_ROUTES.values()].map(({ path }) => path),
    ...specialRoutes({} as Parameters<typeof specialRoutes>[0]).map(({ path }) => path),
    ...deriveTools().map(({ listed }) => listed.name),
    ...COMMANDS.flatMap(({ words, options }) => [words, ...(options ?? []).map(({ name }) => name)]),
  ];
}

describe("the product's names", () => {
  it("carry svc wherever other programs see them", () => {
    verifies("ID-001");
    for (const header of Object.values(HEADERS)) assert.match(header, /^svc-/u);
    for (const variable of Object.values(ENVIRONMENT)) assert.match(variable, /^SVC_/u);
    for (const { listed } of deriveTools()) assert.match(listed.name, /^svc_/u);
    assert.equal(accessCookieName(false, 8848), "svc_access_8848");
    assert.equal(accessCookieName(true, 443), "__Host-svc_access_443");
    const manifest = JSON.parse(readFileSync("package.json", "utf8")) as { bin: Record<string, string> };
    assert.deepEqual(Object.keys(manifest.bin), ["svc"]);
  });

  it("give every signing domain a version, and no proof is made without one", () => {
    verifies("VER-002");
    for (const domain of Object.values(SIGNING_DOMAINS)) assert.match(domain, /^svc(\.[a-z]+)+\.v1$/u);
    // What TLS authenticates follows RFC 8446: its labels are its own.
    for (const [path, text] of sources().filter(
      ([name]) => !name.startsWith(join("daemon", "peers", "direct", "tls")),
    ))
      for (const [, argument] of text.matchAll(/createHmac\([^)]*\)\s*\.update\(([^)]*)\)/gu))
        assert.match(argument!, /SIGNING_DOMAINS\./u, path);
  });
});

describe("what is retired or isn't there", () => {
  it("no Network, pairing or bridge can be reached", () => {
    verifies("RET-001", "RET-003");
    for (const name of reachable()) assert.doesNotMatch(name, /network|pair|bridge|grant/iu, name);
  });

  it("no tool of the old remote_* family", () => {
    verifies("RET-006");
    for (const { listed } of deriveTools()) assert.doesNotMatch(listed.name, /^(svc_)?remote_/u);
  });

  it("no voice, and no update that the product makes by itself", () => {
    verifies("RET-010", "RET-009");
    for (const name of reachable()) assert.doesNotMatch(name, /voice|audio|self.?update|upgrade/iu, name);
  });
});

describe("operating rules", () => {
  it("the documents say that a copied Home must not run beside the original", () => {
    verifies("ID-009");
    assert.match(readFileSync("docs/security.md", "utf8"), /A copy of it must not run as a second instance/u);
    assert.match(readFileSync("docs/getting-started.md", "utf8"), /never run a copy of it/u);
  });
});
