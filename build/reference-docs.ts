/**
 * Writes docs/errors.md, docs/operations.md and docs/cli.md from the catalogue, the registry and
 * the command table, so that they can't drift.
 * `node --import=tsx build/reference-docs.ts`; a test fails if the files differ from its output.
 */
import { writeFileSync } from "node:fs";
import * as z from "zod";
import { type Command, type Option, positionals } from "../cli/command.ts";
import { COMMANDS } from "../cli/table.ts";
import { GLOBAL_OPTIONS, GROUPS } from "../cli/tables/options.ts";
import { operationsOf, TOOLS } from "../mcp-server/tools.ts";
import { ERRORS } from "../shared/errors.ts";
import { API_PREFIX } from "../shared/names.ts";
import type { OperationContract } from "../shared/operations/contract.ts";
import { HTTP_ROUTES } from "../shared/operations/http-routes.ts";
import { OPERATIONS } from "../shared/operations/registry.ts";
import { DELIVERY_NOTES, PEER_REFUSALS } from "../shared/wire/v1/refusals.ts";

interface JsonSchema {
  type?: string | string[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  additionalProperties?: JsonSchema | boolean;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}

/** A schema in a few words: `string`, `"send" | "mail"`, `object[]`. */
function shape(schema: JsonSchema): string {
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.anyOf) return schema.anyOf.map(shape).join(" | ");
  if (schema.type === "array")
    return schema.items ? `(${shape(schema.items)})[]`.replace(/^\((\w+)\)/u, "$1") : "array";
  if (schema.type === "object" && schema.properties) return `{${Object.keys(schema.properties).join(", ")}}`;
  return Array.isArray(schema.type) ? schema.type.join(" | ") : (schema.type ?? "any");
}

function jsonSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  return z.toJSONSchema(schema, { io, unrepresentable: "any" }) as JsonSchema;
}

/** What reaches the operation besides the local socket. */
function portsOf(name: string): string[] {
  const ports: string[] = [];
  const route = HTTP_ROUTES.get(name);
  if (route !== undefined) {
    const { method, path, action } = route;
    ports.push(
      `HTTP \`${method} ${API_PREFIX}${path}\`${action === undefined ? "" : ` with \`action\` \`${action}\``}`,
    );
  }
  for (const tool of TOOLS)
    if (operationsOf(tool).some((one) => one === name)) ports.push(`MCP \`${tool.name}\``);
  for (const { words, operations } of COMMANDS)
    if (operations?.some((one) => one === name)) ports.push(`\`svc ${words}\``);
  return ports;
}

function describe(contract: OperationContract): string {
  const input = jsonSchema(contract.input, "input");
  const output = jsonSchema(contract.output, "output");
  const fields = Object.entries(input.properties ?? {}).map(([name, schema]) => {
    const needed = input.required?.includes(name)
      ? "yes"
      : schema.default === undefined
        ? "no"
        : `no, ${JSON.stringify(schema.default)}`;
    return `| \`${name}\` | ${cell(shape(schema))} | ${cell(needed)} |`;
  });
  const ports = portsOf(contract.name);
  return [
    `### ${contract.name}`,
    "",
    contract.summary,
    "",
    `For: ${contract.callers.join(", ")}.${contract.decision ? " As the user, only for a [known person](security.md#who-is-at-the-socket)." : ""}${ports.length > 0 ? ` Also: ${ports.join(", ")}.` : ""}`,
    "",
    ...(fields.length > 0 ? ["| Input | Type | Required |", "|---|---|---|", ...fields, ""] : []),
    `Result: \`${shape(output)}\``,
    "",
  ].join("\n");
}

export function errorsPage(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, sentence, remedy }]) =>
      `| \`${code}\` | ${status} | ${cell(sentence)} | ${cell(remedy)} |`,
  );
  return [
    "# Errors",
    "",
    "Every refusal is `{ok: false, error: {code, message, details}}`.",
    "`code` is stable, `message` says what is wrong and what to do, and `details` names the field, limit or choice.",
    "The command line prints the message to standard error and exits with 1. Over MCP it is a tool error.",
    "",
    "| Code | HTTP | What is wrong | What to do |",
    "|---|---|---|---|",
    ...rows,
    "",
    "## Between instances",
    "",
    "Another instance answers an authenticated request with one of these, signed: `{ok: false, error: {code, message}}`.",
    "They never come from an operation. `connect_delivery` and `chat.cross_group_receipt` show them.",
    "If a code isn't listed here, it comes from another implementation, and the sender gives up.",
    "",
    "| Code | What is wrong | What the sender does |",
    "|---|---|---|",
    ...Object.entries(PEER_REFUSALS).map(
      ([code, { sentence, sender }]) => `| \`${code}\` | ${cell(sentence)} | ${sender} |`,
    ),
    "",
    "This instance records these itself when no signed answer gives a reason:",
    "",
    "| Code | What is wrong |",
    "|---|---|",
    ...Object.values(DELIVERY_NOTES).map(({ code, sentence }) => `| \`${code}\` | ${cell(sentence)} |`),
    "",
  ].join("\n");
}

export function operationsPage(): string {
  return [
    "# Operations",
    "",
    "Every port (local socket, HTTP, MCP, command line) calls these.",
    "On the local socket, each is `POST /op/<name>` with its input as JSON.",
    "Over HTTP, the path takes its `{fields}` from the input. GET and DELETE take the rest from the query, the others from a JSON body.",
    "Operations that share an address are told apart by `action` in the body. Unknown fields are refused.",
    "The answer is `{ok: true, result}` or an error from [errors.md](errors.md).",
    "`user` is the owner of the local socket or the holder of an administrator token. `member` holds a token restricted to Groups.",
    "`actor` is an Actor in its own Group. `exhibit` is the read-only listener.",
    "",
    ...[...OPERATIONS.values()].map(describe),
  ].join("\n");
}

function optionText(option: Option): string {
  const names = [...(option.short ? [`-${option.short}`] : []), `--${option.name}`];
  return `| \`${names.join("`, `")}${option.value ? ` ${option.value}` : ""}\` | ${cell(option.text)}${option.many ? " (may be repeated)" : ""} |`;
}

function describeCommand(command: Command): string {
  const [operation] = command.operations ?? [];
  const summary = command.summary ?? (operation ? OPERATIONS.get(operation)?.summary : undefined) ?? "";
  const places = positionals(command).map(({ name, required }) =>
    required ? name.toUpperCase() : `[${name.toUpperCase()}]`,
  );
  const calls = command.operations?.map((name) => `[${name}](operations.md#${name})`) ?? [];
  return [
    `### \`${["svc", command.words, ...places, ...(command.rest ? [`[-- ${command.rest}]`] : [])].join(" ")}\``,
    "",
    `${summary}${calls.length > 0 ? ` Calls ${calls.join(", ")}.` : ""}`,
    "",
    ...(command.options?.length ? ["| Option | |", "|---|---|", ...command.options.map(optionText), ""] : []),
    ...(command.examples?.length ? ["```", ...command.examples, "```", ""] : []),
  ].join("\n");
}

/** The command group of a command; "" for one that stands alone, and for what belongs to it. */
function groupOf(words: string): string {
  const first = words.split(" ", 1)[0] ?? "";
  return first in GROUPS ? first : "";
}

export function commandsPage(): string {
  return [
    "# Command line",
    "",
    "With `--json`, a command prints the operation's envelope as one JSON document (`svc tail -f --json` prints one event per line).",
    "Results go to standard output, errors to standard error.",
    "Exit codes: 0 success, 1 refused by the daemon, 2 usage error, 3 can't reach the daemon, 130 interrupted.",
    "",
    "The Group is the first of these that exists: `--group`, `SVC_GROUP_ID`, the Group bound to the current directory, the only Group.",
    "Otherwise the command lists the Groups and exits with 2.",
    "If `SVC_ACTOR_FILE` is set, commands act as the Actor whose launch token that file contains, and never as you.",
    "",
    "Every command takes:",
    "",
    "| Option | |",
    "|---|---|",
    ...GLOBAL_OPTIONS.map(optionText),
    "| `-h`, `--help` | Show help for the command or command group |",
    "",
    ...["", ...Object.keys(GROUPS)].flatMap((group) => [
      group === "" ? "## Commands" : `## svc ${group}`,
      "",
      ...(group === "" ? [] : [`${GROUPS[group]}.`, ""]),
      ...COMMANDS.filter(({ words }) => group === groupOf(words)).map(describeCommand),
    ]),
  ].join("\n");
}

if (process.argv[1]?.endsWith("reference-docs.ts")) {
  writeFileSync("docs/errors.md", errorsPage());
  writeFileSync("docs/operations.md", operationsPage());
  writeFileSync("docs/cli.md", commandsPage());
}
