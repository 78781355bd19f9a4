/** The Actors of a Group. */

import { programsOnPath, svcCommand } from "../../client/programs.ts";
import { type AgentClient, agentClient, agentSteps } from "../../shared/agent-clients.ts";
import type { Actor } from "../../shared/model.ts";
import { NOT_CONNECTED } from "../../shared/names.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { InputOf, ResultOf } from "../../shared/operations/registry.ts";
import { missingWords } from "../../shared/start-words.ts";
import { labelled } from "../../shared/voice.ts";
import { agreed } from "../consent.ts";
import type { CommandContext } from "../context.ts";
import { readInput } from "../input.ts";
import { missingNote, missingOf, programNote } from "../missing.ts";
import { oneLine } from "../output.ts";
import { programFile } from "../program.ts";
import { counted, moment } from "../render.ts";

async function target(context: CommandContext): Promise<{ group_id: string; actor_id: string }> {
  const groupId = await context.group();
  return { group_id: groupId, actor_id: await context.actor(groupId, context.arg(0)) };
}

/** `NAME=VALUE` parts as an object. Throws a UsageError that never quotes a value. */
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

/**
 * The daemon runs a runtime or a command. `external` names no agent: someone else starts that
 * process.
 */
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

/** Whether its agent may use svc's own tools without asking. */
function allowed(context: CommandContext): { allow_tools?: boolean } {
  const how = context.text("own-tools");
  return how === undefined ? {} : { allow_tools: how === "allow" };
}

/** Whether what its agent asks can be answered through svc. */
function answered(context: CommandContext): { answerable?: boolean } {
  const where = context.text("questions");
  return where === undefined ? {} : { answerable: where === "svc" };
}

export async function add(context: CommandContext): Promise<number> {
  const env = assignments(context, context.list("env"), "--env");
  const scopeKey = context.text("scope");
  const input = {
    group_id: await context.group(),
    actor_id: context.arg(0),
    ...context.given("title"),
    ...runtimeOf(context),
    ...runnerOf(context),
    env,
    command: [...context.rest],
    ...(scopeKey === undefined ? {} : { scope_key: scopeKey }),
    enabled: !context.has("disabled"),
    ...allowed(context),
    ...answered(context),
    prompts: context.has("prompts"),
  };
  const added = await context.client.call("actor_add", input);
  const missing = added.ok ? await missingOf(context, input.group_id, added.result.actor) : [];
  const program = missing.find(({ kind }) => kind === "program");
  return context.show(added, ({ actor, token_file: tokenFile }) => {
    if (program !== undefined) {
      context.out.line(`Added ${actor.id} (${actor.role}).`);
      context.out.note(programNote(context, program, actor.id));
      return;
    }
    if (actor.runner === "pty") {
      context.out.line(
        `Added ${actor.id} (${actor.role}). Start it with: ${context.command("actor", "start", actor.id)}`,
      );
      for (const one of missing) context.out.note(missingNote(one));
      return;
    }
    context.out.line(`Added ${actor.id} (${actor.role}). Its launch token is in ${tokenFile}.`);
    context.out.line(`Show its MCP configuration with: ${context.command("actor", "mcp-config", actor.id)}`);
  });
}

export async function list(context: CommandContext): Promise<number> {
  const { out } = context;
  return context.print("actor_list", { group_id: await context.group() }, ({ actors }) => {
    if (actors.length === 0) {
      out.line(context.suggested("No Actors. Add one with 'svc actor add ID'."));
      return;
    }
    out.table(
      ["ACTOR", "ROLE", "RUNTIME", "STATE", "REASON", "MAIL", "PENDING", "TITLE"],
      actors.map(({ id, role, runtime, presence, title }) => [
        id,
        role,
        runtime,
        stateOf(presence),
        stateOf(presence) === NOT_CONNECTED ? "" : reasonsOf(presence),
        String(presence.unread_mail),
        String(presence.pending),
        labelled(title),
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

/** Notes about its state and about what holds up its messages. */
function reasonsOf({ reason, held }: Presence): string {
  const isSame = held === undefined || held === reason;
  return [oneLine(reason), ...(isSame ? [] : [`messages wait: ${oneLine(held)}`])]
    .filter((part) => part !== "")
    .join("; ");
}

function printActor(context: CommandContext, actor: ActorWithPresence): void {
  const { out } = context;
  const { presence } = actor;
  const { held } = presence;
  out.line(`${out.style("bold", actor.id)}  ${labelled(actor.title)}`);
  out.fields([
    ["role", actor.role],
    ["state", stateAndReason(presence)],
    ["runtime", `${actor.runtime} (${actor.runner})`],
    ["enabled", actor.enabled ? "yes" : "no"],
    ...(actor.runner === "pty"
      ? [["svc's tools", actor.allow_tools ? "used without asking" : "asks before each use"] as const]
      : []),
    ...(actor.answerable ? [["questions", questionsText(context, actor)] as const] : []),
    ...(actor.prompts ? [["prompts", "typed into its command"] as const] : []),
    ["unread mail", String(presence.unread_mail)],
    ["pending", [String(presence.pending), ...(held === undefined ? [] : [oneLine(held)])].join(": ")],
    ["last activity", presence.last_activity === null ? "none" : moment(presence.last_activity)],
    ["generation", actor.generation],
    ...(actor.command.length > 0 ? [["command", actor.command.map(oneLine).join(" ")] as const] : []),
    ...(actor.scope_key === null ? [] : [["scope", actor.scope_key] as const]),
    ...Object.entries(actor.env).map(([name, value]) => [`env ${name}`, oneLine(value)] as const),
    ...(actor.private_env.length > 0 ? [["private env", actor.private_env.join(", ")] as const] : []),
  ]);
}

function questionsText(
  context: CommandContext,
  { id, presence: { questions = 0 } }: ActorWithPresence,
): string {
  const answering = context.command("actor", "answer", id);
  const open = questions === 0 ? "" : `; ${counted(questions, "open question")}: ${answering}`;
  return `answered through svc, too${open}`;
}

export async function show(context: CommandContext): Promise<number> {
  return context.print("actor_show", await target(context), ({ actor }) => printActor(context, actor));
}

function promptsOf(context: CommandContext): { prompts?: boolean } {
  const [yes, no] = [context.has("prompts"), context.has("no-prompts")];
  if (yes && no) throw context.usage("Choose --prompts or --no-prompts.");
  return yes || no ? { prompts: yes } : {};
}

export async function update(context: CommandContext): Promise<number> {
  const scope = context.text("scope");
  const change = {
    ...context.given("title"),
    ...runtimeOf(context),
    ...(context.list("env").length > 0 ? { env: assignments(context, context.list("env"), "--env") } : {}),
    ...(context.rest.length > 0 ? { command: [...context.rest] } : {}),
    ...(scope === undefined ? {} : { scope_key: scope === "none" ? null : scope }),
    ...allowed(context),
    ...answered(context),
    ...promptsOf(context),
  };
  if (Object.keys(change).length === 0)
    throw context.usage("Change what? Use --title, --runtime, --env, --scope or -- COMMAND.");
  return context.print("actor_update", { ...(await target(context)), ...change }, ({ actor }) =>
    context.out.line(`Changed ${actor.id}.`),
  );
}

function enabledText({ id, enabled, runner }: Actor): string {
  if (runner === "pty") return enabled ? `${id} runs.` : `${id} is stopped; its messages wait.`;
  return `${id} ${enabled ? "receives messages" : "is disabled; its messages wait"}.`;
}

/** What a start says about the conversation. Empty if there was none before. */
function conversationText(conversation: ResultOf<"actor_start">["conversation"]): string {
  if (conversation === null) return "";
  if (conversation.continued) return " It continues its conversation.";
  return conversation.lost === ""
    ? ""
    : ` It starts a new conversation because its last one can't be continued: ${conversation.lost}.`;
}

export async function start(context: CommandContext): Promise<number> {
  const input = { ...(await target(context)), new_conversation: context.has("new-conversation") };
  return context.print("actor_start", input, ({ actor, conversation }) =>
    context.out.line(`${enabledText(actor)}${conversationText(conversation)}`),
  );
}

export async function stop(context: CommandContext): Promise<number> {
  return context.print("actor_stop", await target(context), ({ actor }) =>
    context.out.line(enabledText(actor)),
  );
}

export async function restart(context: CommandContext): Promise<number> {
  const input = { ...(await target(context)), new_conversation: context.has("new-conversation") };
  return context.print("actor_restart", input, ({ actor, token_file: tokenFile, conversation }) =>
    context.out.line(
      actor.runner === "pty"
        ? `${actor.id} has been restarted.${conversationText(conversation)}`
        : `${actor.id} has a new launch token in ${tokenFile}. Start its process again.`,
    ),
  );
}

export async function interrupt(context: CommandContext): Promise<number> {
  return context.print("actor_interrupt", await target(context), ({ actor }) =>
    context.out.line(`${actor.id} has been interrupted.`),
  );
}

export async function runtimes(context: CommandContext): Promise<number> {
  const works = (isSo: boolean): string => (isSo ? "yes" : "no");
  const input = context.text("group") === undefined ? {} : { group_id: await context.group() };
  return context.print("runtime_list", input, ({ runtimes: all }) => {
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
    );
    const installed = all.filter((one) => one.installed);
    for (const one of installed.flatMap(missingWords)) context.out.note(missingNote(one));
  });
}

export async function remove(context: CommandContext): Promise<number> {
  const found = await target(context);
  if (!(await agreed(context, `Remove ${found.actor_id} and its waiting messages from the Group?`))) {
    context.out.note("Nothing was changed.");
    return 1;
  }
  return context.print("actor_remove", found, () => context.out.line(`${found.actor_id} has been removed.`));
}

/**
 * Values come from standard input or from this process's environment, because every user of the
 * machine can read arguments.
 */
export async function secrets(context: CommandContext): Promise<number> {
  const set: Record<string, string> = {};
  for (const name of context.list("from-env")) {
    if (name.includes("="))
      throw context.usage("--from-env takes only a name, because secrets don't belong on a command line.");
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
    throw context.usage("Give values with --stdin, --from-env or --unset.");
  return context.print("actor_secrets", { ...(await target(context)), set, unset }, ({ actor }) =>
    context.out.line(
      actor.private_env.length === 0
        ? "No private values."
        : `Private values: ${actor.private_env.join(", ")}`,
    ),
  );
}

export async function mcpConfig(context: CommandContext): Promise<number> {
  const address = await target(context);
  const answer = await context.client.call("actor_mcp_config", address);
  if (!answer.ok) return context.show(answer, () => undefined);
  const client = agentClient(context.text("for") ?? "");
  if (client !== undefined) return connectSteps(context, client, address.actor_id);
  const { svc } = answer.result.mcpServers;
  // The installed program, which may be another copy than the daemon's.
  const own = { ...svc, command: process.execPath, args: [programFile(), "mcp"] };
  return context.show({ ok: true, result: { mcpServers: { svc: own } } }, (result) =>
    context.out.line(JSON.stringify(result, null, 2)),
  );
}

/** How to connect an agent of this kind as the Actor. */
function connectSteps(context: CommandContext, client: AgentClient, actorId: string): number {
  const isOnPath = programsOnPath(process.env, svcCommand()).length > 0;
  const program = isOnPath ? {} : { program: { command: process.execPath, args: [programFile()] } };
  const steps = agentSteps(client, { actorId, home: context.home, ...program });
  if (!isOnPath && client.owner === "project")
    context.out.note("svc: there is no program 'svc' on PATH. The agent finds the server only with it.");
  return context.show({ ok: true, result: steps }, ({ file, snippet, command, environment, next }) => {
    const { out } = context;
    if (command !== null) out.line(`Run this in the folder:\n\n  ${command}\n\nOr add this to ${file}:\n`);
    else out.line(`Add this to ${file}:\n`);
    out.line(`${snippet}\n`);
    if (environment !== null) out.line(`Give the agent ${environment} in its environment.`);
    out.line(next);
  });
}
