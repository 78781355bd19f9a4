/**
 * Nothing that a peer can send is without an end: every text, list and record of every schema of
 * the wire has a bound.
 */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import * as z from "zod";
import { LIMITS } from "../../shared/limits.ts";
import { CatalogPage, ConnectPeerOperation } from "../../shared/wire/v1/peer.ts";
import { message } from "./sample.ts";

/** Records of the outbox are our own, on our own disk, and bounded as a whole (LIM-032). */
const OWN = ["outbox.ts"];
/**
 * Parts of answers that stay as they came; what those have is counted before they are parsed
 * (test/peers/direct/hostile-frames.test.ts).
 */
const AS_THEY_CAME =
  /^(?:ConnectPeerAnswer|ConnectPeerResponse|DirectFrame)\.(?:.*\.result \(unknown\)|.*error\.details \(record\))$/u;

function hasMaximum({ checks = [] }: z.core.$ZodTypeDef): boolean {
  return checks.some(({ _zod: { def } }) => def.check === "max_length");
}

/** Paths of what has no bound. */
function unbounded(schema: z.core.$ZodType, path: string, seen: Set<z.core.$ZodType>): string[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  const { def } = schema._zod as unknown as { def: z.core.$ZodTypeDef & Record<string, unknown> };
  const inner = (key: string, name = ""): string[] =>
    unbounded(def[key] as z.core.$ZodType, `${path}${name}`, seen);
  switch (def.type as string) {
    case "string":
      return Number.isFinite((schema as z.ZodString).maxLength) ? [] : [path];
    case "array":
      return [...(hasMaximum(def) ? [] : [path]), ...inner("element", "[]")];
    case "object":
      return Object.entries(def["shape"] as Record<string, z.core.$ZodType>).flatMap(([name, member]) =>
        unbounded(member, `${path}.${name}`, seen),
      );
    case "union":
      return (def["options"] as z.core.$ZodType[]).flatMap((option) => unbounded(option, path, seen));
    case "nullable":
    case "optional":
    case "default":
      return inner("innerType");
    case "pipe":
      return [...inner("in"), ...inner("out")];
    case "int":
    case "number":
    case "boolean":
    case "literal":
    case "enum":
    case "null":
      return [];
    // What a preprocessing step makes is the schema's behind it.
    case "transform":
      return [];
    // A file's bytes, which no JSON has.
    case "custom":
      return [];
    default:
      return [`${path} (${def.type})`];
  }
}

describe("the schemas of the wire", () => {
  it("bound every text, list and record", async () => {
    const found: string[] = [];
    let schemas = 0;
    for (const file of readdirSync("shared/wire/v1")) {
      if (OWN.includes(file)) continue;
      const exported = (await import(`../../shared/wire/v1/${file}`)) as Record<string, unknown>;
      for (const [name, value] of Object.entries(exported)) {
        if (!(value instanceof z.ZodType)) continue;
        schemas += 1;
        found.push(...unbounded(value, name, new Set()));
      }
    }
    assert.ok(schemas > 30, `${schemas} schemas`);
    assert.deepEqual(
      found.filter((path) => !AS_THEY_CAME.test(path)),
      [],
    );
    assert.equal(found.length, 5);
  });

  it("count the items of a list before they look at any", () => {
    let looked = 0;
    const item = new Proxy({}, { get: () => (looked += 1), ownKeys: () => ((looked += 1), []) });
    const many = (count: number) => Array.from({ length: count }, () => item);
    const page = (actors: unknown) => ({
      groups: [{ group_id: "g_0123456789ab", title: "", actors }],
      next: null,
    });
    const operation = (change: object) => ({
      op: "deliver",
      message: { ...message(), ...change },
      blobs: [],
    });
    for (const [schema, value] of [
      [CatalogPage, page(many(LIMITS.group.actors + 1))],
      [CatalogPage, { groups: many(LIMITS.connect.catalog.groups + 1), next: null }],
      [ConnectPeerOperation, operation({ recipients: many(LIMITS.message.recipients + 1) })],
      [ConnectPeerOperation, operation({ attachments: many(LIMITS.message.attachments + 1) })],
      [ConnectPeerOperation, { ...operation({}), blobs: many(LIMITS.message.attachments + 1) }],
    ] as const) {
      assert.ok(!schema.safeParse(value).success);
      assert.equal(looked, 0);
    }
    const actor = (index: number) => ({
      id: `a${index}`,
      title: "",
      generation: "one",
      enabled: true,
      role: null,
    });
    const full = Array.from({ length: LIMITS.group.actors }, (_, index) => actor(index));
    assert.ok(CatalogPage.safeParse(page(full)).success);
    assert.ok(!CatalogPage.safeParse(page([...full, actor(256)])).success);
  });
});
