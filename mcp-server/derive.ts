/**
 * Builds the protocol's tool list from the rows of tools.ts and the operations' contracts. It loads
 * the schemas, so the stdio server gets the result at build time (build/contracts.ts).
 */
import * as z from "zod";
import { OPERATIONS } from "../shared/operations/registry.ts";
import { operationsOf, TOOLS, type Tool } from "./tools.ts";

type Json = Record<string, unknown>;

interface ObjectSchema extends Json {
  properties?: Record<string, Json>;
  required?: string[];
}

interface Annotations {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** A tool as `tools/list` returns it, with what a call needs to find its operation. */
export interface DerivedTool {
  listed: {
    name: string;
    title: string;
    description: string;
    inputSchema: Json & { type: "object" };
    outputSchema: Json & { type: "object" };
    annotations: Annotations;
  };
  /** By action: its allowed and required arguments, and whether the operation needs the Group. */
  actions: Record<string, { operation: string; takes: string[]; needs: string[]; inGroup: boolean }>;
}

/** Every input carries the Group, which comes from the launch identity. */
const FROM_IDENTITY = "group_id";

function schemaOf(name: string, io: "input" | "output"): ObjectSchema {
  const contract = OPERATIONS.get(name);
  if (!contract) throw new Error(`no operation ${name}`);
  return z.toJSONSchema(contract[io], { io, unrepresentable: "any" }) as ObjectSchema;
}

/**
 * What helps an agent to fill in an argument. The daemon checks the rest (patterns, lengths in
 * bytes).
 */
function compactInput(schema: Json): Json {
  const kept: Json = {};
  for (const [key, value] of Object.entries(schema)) {
    if (["type", "enum", "minItems", "maxItems", "minimum"].includes(key)) kept[key] = value;
    else if (key === "maximum" && value !== Number.MAX_SAFE_INTEGER) kept[key] = value;
    else if (
      key === "default" &&
      value !== "" &&
      JSON.stringify(value) !== "[]" &&
      JSON.stringify(value) !== "{}"
    )
      kept[key] = value;
    else if (key === "items" || key === "additionalProperties")
      kept[key] = typeof value === "object" ? compactInput(value as Json) : value;
    else if (key === "anyOf") kept[key] = (value as Json[]).map(compactInput);
  }
  return kept;
}

/**
 * Types of a result to the given depth. Deeper levels only say that something is an object or a
 * list.
 */
function compactOutput(schema: Json, depth: number): Json {
  const { type, properties, items, anyOf } = schema as ObjectSchema & { items?: Json; anyOf?: Json[] };
  if (anyOf) {
    const types = anyOf.map((choice) => choice["type"]);
    return types.every((one) => typeof one === "string") ? { type: [...new Set(types)] } : {};
  }
  if (type === "array")
    return { type, ...(items && depth > 0 ? { items: compactOutput(items, depth - 1) } : {}) };
  if (type === "object" && properties && depth > 0)
    return {
      type,
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, value]) => [name, compactOutput(value, depth - 1)]),
      ),
    };
  return type === undefined ? {} : { type };
}

/** A hint holds for every operation that the tool can reach. */
function annotationsOf(tool: Tool): Annotations {
  const contracts = operationsOf(tool).map((name) => OPERATIONS.get(name)!);
  return {
    readOnlyHint: contracts.every(({ effect }) => effect === "read"),
    destructiveHint: contracts.some(({ effect }) => effect === "destroy"),
    idempotentHint: contracts.every(({ idempotent }) => idempotent),
    // It reaches the Home's own Groups and those that a person connected them with.
    openWorldHint: false,
  };
}

function argumentName(tool: Tool, field: string): string {
  return Object.entries(tool.fields ?? {}).find(([, name]) => name === field)?.[0] ?? field;
}

function derive(tool: Tool): DerivedTool {
  const properties: Record<string, Json> = {};
  const results: Record<string, Json> = {};
  const actions: DerivedTool["actions"] = {};
  const hidden = [FROM_IDENTITY, ...(tool.hidden ?? [])];
  const names = Object.keys(tool.operations);
  if (names.length > 1)
    properties["action"] = {
      type: "string",
      enum: names,
      ...(tool.defaultAction ? { default: tool.defaultAction } : {}),
    };
  for (const [action, operation] of Object.entries(tool.operations)) {
    const input = schemaOf(operation, "input");
    const takes = names.length > 1 ? ["action"] : [];
    for (const [field, schema] of Object.entries(input.properties ?? {})) {
      if (hidden.includes(field)) continue;
      const name = argumentName(tool, field);
      const text = tool.arguments?.[name];
      const preset = tool.defaults?.[name];
      takes.push(name);
      properties[name] ??= {
        ...compactInput(schema),
        ...(preset === undefined ? {} : { default: preset }),
        ...(text === undefined ? {} : { description: text }),
      };
    }
    for (const argument of (tool.switches ?? []).flatMap((one) => Object.keys(one.arguments))) {
      takes.push(argument);
      properties[argument] = { type: "string", description: tool.arguments?.[argument] ?? "" };
    }
    const needs = (input.required ?? [])
      .filter((field) => !hidden.includes(field))
      .map((field) => argumentName(tool, field));
    actions[action] = {
      operation,
      takes,
      needs: [...new Set([...needs, ...(tool.required ?? [])])],
      inGroup: FROM_IDENTITY in (input.properties ?? {}),
    };
    // Where only the action tells which results come, more detail wouldn't help.
    const depth = names.length > 1 ? 1 : 2;
    Object.assign(results, compactOutput(schemaOf(operation, "output"), depth)["properties"]);
  }
  if (names.length === 0) results["text"] = { type: "string" };
  const [first] = Object.values(actions);
  const required = names.length === 1 ? (first?.needs ?? []) : [];
  return {
    listed: {
      name: tool.name,
      title: tool.title,
      description: tool.description,
      inputSchema: {
        type: "object",
        properties,
        ...(required.length > 0 ? { required } : {}),
        additionalProperties: false,
      },
      // The envelope that every port returns (docs/protocol.md#envelopes-and-errors).
      outputSchema: {
        type: "object",
        properties: {
          ok: { type: "boolean" },
          result: { type: "object", properties: results },
          error: { type: "object" },
        },
        required: ["ok"],
      },
      annotations: annotationsOf(tool),
    },
    actions,
  };
}

export function deriveTools(): DerivedTool[] {
  return TOOLS.map(derive);
}
