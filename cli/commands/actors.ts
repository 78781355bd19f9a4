/** The Actors of a Group. */
import type { Actor } from "../../shared/model.ts";
import { NOT_CONNECTED } from "../../shared/names.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { InputOf } from "../../shared/operations/registry.ts";
import type { CommandContext } from "../context.ts";
import { readInput } from "../input.ts";
import { oneLine } from "../output.ts";
import { moment } from "../render.ts";

async function target(context: CommandContext): Promise<{ group_id: string; actor_id: string }> {
  return { group_id: await context.group(), actor_id: context.arg(0) };
}

/** `NAME=VALUE` parts as an object. Throws UsageError that never quotes a value. */
function assignments(
  context: CommandContext,
  parts: readonly string[],
  from: string,
): Record<string, string> {
  const values: Record<string, string> = {};
  for (const part of parts) {
    const equals = part.indexOf("=");
    if (equals < 1) throw context.usage(`${from} takes NAME=VALUE.`);
    values[part.slice(0, equals)] = part.slice(equals + 1);
  }
  return values;
}

type Runtime = InputOf<"actor_add">["runtime"];

/** A runtime is run by the daemon, and so is a command; `external` names no agent: a process that somebody else starts. */
function runnerOf(context: CommandContext): { runner: "pty" | "external" } {
  const runtime = context.text("runtime");
  const isRun = runtime === undefined ? context.rest.length > 0 : runtime !== "external";
  return { runner: isRun ? "pty" : "external" };
}

/** `external` names no agent. */
function runtimeOf(context: CommandContext): { runtime?: Runtime } {
  const runtime = context.text("runtime");
  return runtime === undefined || runtime === "external" ? {} : { runtime: runtime as Runtime };
}

export async function add(context: CommandContext): Promise<number> {
  const env = assignments(context, context.list("env"), "--env");
  const scope_key = context.text("scope");
  const input = {
    ...(await target(context)),
    ...context.given("title"),
    ...runtimeOf(context),
    ...runnerOf(context),
    env,
    command: [...context.rest],
    ...(scope_key === undefined ? {} : { scope_key }),
    enabled: !context.has("disabled"),
  };
  return context.print("actor_add", input, ({ actor, token_file }) => {
    if (actor.runner === "pty") {
      context.out.line(`Added ${actor.id} (${actor.role}). Start it: svc actor start ${actor.id}`);
      return;
    }
    context.out.line(`Added ${actor.id} (${actor.role}). Its launch token is in ${token_file}.`);
    context.out.line(`For its MCP configuration: svc actor mcp-config ${actor.id}`);
  });
}

export async function list(context: CommandContext): Promise<number> {
  const { out } = context;
  return context.print("actor_list", { group_id: await context.group() }, ({ actors }) => {
    if (actors.length === 0) {
      out.line("No Actors. Add one with 'svc actor add ID'.");
      return;
    }
    out.table(
      ["ACTOR", "ROLE", "RUNTIME", "STATE", "MAIL", "PENDING", "TITLE"],
      actors.map(({ id, role, runtime, presence, title }) => [
        id,
        role,
        runtime,
        stateOf(presence),
        String(presence.unread_mail),
        String(presence.pending),
        oneLine(title),
      ]),
    );
  });
}

type Presence = ActorWithPresence["presence"];

function stateOf({ state, reason }: Presence): string {
  return reason.startsWith(NOT_CONNECTED) ? NOT_CONNECTED : state;
}

function stateAndReason(presence: Presence): string {
  const reason = oneLine(presence.reason);
  return stateOf(presence) === NOT_CONNECTED ? reason : `${presence.state}: ${reason}`;
}

function printActor(context: CommandContext, actor: ActorWithPresence): void {
  const { out } = context;
  const { presence } = actor;
  out.line(`${out.style("bold", actor.id)}  ${oneLine(actor.title)}`);
  out.fields([
    ["role", actor.role],
    ["state", stateAndReason(presence)],
    ["runtime", `${actor.runtime} (${actor.runner})`],
    ["enabled", actor.enabled ? "yes" : "no"],
    ["unread mail", String(presence.unread_mail)],
    ["pending", String(presence.pending)],
    ["last activity", presence.last_activity === null ? "none" : moment(presence.last_activity)],
    ["generation", actor.generation],
    ...(actor.command.length > 0 ? [["command", actor.command.map(oneLine).join(" ")] as const] : []),
    ...(actor.scope_key === null ? [] : [["scope", actor.scope_key] as const]),
    ...Object.entries(actor.env).map(([name, value]) => [`env ${name}`, oneLine(value)] as const),
    ...(actor.private_env.length > 0 ? [["private env", actor.private_env.join(", ")] as const] : []),
  ]);
}

export async function show(context: CommandContext): Promise<number> {
  return context.print("actor_show", await target(context), ({ actor }) => printActor(context, actor));
}

export async function update(context: CommandContext): Promise<number> {
  const scope = context.text("scope");
  const change = {
    ...context.given("title"),
    ...runtimeOf(context),
    ...(context.list("env").length > 0 ? { env: assignments(context, context.list("env"), "--env") } : {}),
    ...(context.rest.length > 0 ? { command: [...context.rest] } : {}),
    ...(scope === undefined ? {} : { scope_key: scope === "none" ? null : scope }),
  };
  if (Object.keys(change).length === 0) throw context.usage("What is to change?");
  return context.print("actor_update", { ...(await target(context)), ...change }, ({ actor }) =>
    context.out.line(`Changed ${actor.id}.`),
  );
}

function enabledText({ id, enabled, runner }: Actor): string {
  if (runner === "pty") return enabled ? `${id} runs.` : `${id} is stopped; its messages wait.`;
  return `${id} is ${enabled ? "enabled and is handed messages" : "disabled; its messages wait"}.`;
}

export async function start(context: CommandContext): Promise<number> {
  return context.print("actor_start", await target(context), ({ actor }) =>
    context.out.line(enabledText(actor)),
  );
}

export async function stop(context: CommandContext): Promise<number> {
  return context.print("actor_stop", await target(context), ({ actor }) =>
    context.out.line(enabledText(actor)),
  );
}

export async function restart(context: CommandContext): Promise<number> {
  return context.print("actor_restart", await target(context), ({ actor, token_file }) =>
    context.out.line(
      actor.runner === "pty"
        ? `${actor.id} runs afresh.`
        : `${actor.id} has a new launch token in ${token_file}; start its process again.`,
    ),
  );
}

export async function interrupt(context: CommandContext): Promise<number> {
  return context.print("actor_interrupt", await target(context), ({ actor }) =>
    context.out.line(`${actor.id} is interrupted.`),
  );
}

export async function runtimes(context: CommandContext): Promise<number> {
  const works = (isSo: boolean): string => (isSo ? "yes" : "no");
  return context.print("runtime_list", {}, ({ runtimes: all }) =>
    context.out.table(
      ["RUNTIME", "NAME", "VERSION", "COMMAND", "TOOLS", "ACTIVITY", "PROOF"],
      all.map(({ runtime, title, version, installed, path, command, tools, activity, proof }) => [
        runtime,
        title,
        version ?? (installed ? "unknown" : command === null ? "" : "not installed"),
        path ?? command ?? "",
        works(tools),
        works(activity),
        works(proof),
      ]),
    ),
  );
}

export async function remove(context: CommandContext): Promise<number> {
  return context.print("actor_remove", await target(context), () =>
    context.out.line(`${context.arg(0)} is removed.`),
  );
}

/** Values come from standard input or from this process's environment: an argument can be read by every user of the machine. */
export async function secrets(context: CommandContext): Promise<number> {
  const set: Record<string, string> = {};
  for (const name of context.list("from-env")) {
    if (name.includes("="))
      throw context.usage("--from-env takes a name only: secrets don't belong on a command line.");
    const value = process.env[name];
    if (value === undefined) throw context.usage(`There is no environment variable ${name}.`);
    set[name] = value;
  }
  if (context.has("stdin")) {
    const lines = (await readInput())
      .split(/\r?\n/)
      .filter((line) => line.trim() !== "" && !line.startsWith("#"));
    Object.assign(set, assignments(context, lines, "Standard input"));
  }
  const unset = context.list("unset");
  if (Object.keys(set).length + unset.length === 0)
    throw context.usage("Name values with --stdin, --from-env or --unset.");
  return context.print("actor_secrets", { ...(await target(context)), set, unset }, ({ actor }) =>
    context.out.line(
      actor.private_env.length === 0
        ? "No private values."
        : `Private values: ${actor.private_env.join(", ")}`,
    ),
  );
}

export async function mcpConfig(context: CommandContext): Promise<number> {
  return context.print("actor_mcp_config", await target(context), (result) =>
    context.out.line(JSON.stringify(result, null, 2)),
  );
}
