/** Groups: created, shown, changed, removed, moved between Homes. */

import { resolve } from "node:path";
import { quotedName } from "../../shared/foreign-text.ts";
import type { Group, GroupSettings } from "../../shared/model.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { labelled, quoted } from "../../shared/voice.ts";
import type { CommandContext } from "../context.ts";
import { groupNamed, NO_GROUP } from "../lookup.ts";
import { oneLine } from "../output.ts";
import { moment } from "../render.ts";

/** The Group from the positional argument, or by the usual rule. */
async function shownGroup(context: CommandContext): Promise<string> {
  const [named] = context.args;
  return named === undefined ? context.group() : groupNamed(context.client, named);
}

function printGroup(context: CommandContext, group: Group): void {
  const { out } = context;
  out.line(`${out.style("bold", labelled(group.title))}  ${group.group_id}`);
  out.fields([
    ["state", group.state],
    ...(group.topic === "" ? [] : ([["topic", labelled(group.topic)]] as const)),
    ["created", moment(group.created_at)],
    ...group.scopes.map(
      ({ scope_key: scopeKey, path }) =>
        [
          "project",
          `${labelled(path)}  ${scopeKey}${scopeKey === group.active_scope_key ? " (active)" : ""}`,
        ] as const,
    ),
    [
      "actors",
      group.actors
        .map(({ id, role, enabled }) => `${id} (${role}${enabled ? "" : ", disabled"})`)
        .join(", ") || "none",
    ],
    ...Object.entries(group.settings).map(([name, value]) => [name, String(value)] as const),
  ]);
}

export async function attach(context: CommandContext): Promise<number> {
  const path = resolve(context.args[0] ?? ".");
  const envelope = await context.client.call("attach", { path, ...(await optionalGroup(context)) });
  const shown = envelope.ok
    ? await context.client.call("group_show", { group_id: envelope.result.group_id })
    : null;
  const title = shown?.ok === true ? `${quoted(shown.result.title)}, ` : "";
  const code = context.show(envelope, ({ created, group_id: groupId, scope_key: scopeKey }) => {
    const done = created ? "Created the Group" : "Attached to the Group";
    context.out.line(`${done} ${title}${groupId}, for ${path} (${scopeKey}).`);
  });
  if (envelope.ok && !envelope.result.created && !context.out.json)
    await tellOthers(context, envelope.result);
  return code;
}

/** Where the Group's Actors go on working, if not in the directory that was just attached. */
async function tellOthers(
  context: CommandContext,
  { group_id: groupId, scope_key: scopeKey }: ResultOf<"attach">,
): Promise<void> {
  const { scopes, active_scope_key: activeKey } = await context.client.result("group_show", {
    group_id: groupId,
  });
  const active = scopes.find((scope) => scope.scope_key === activeKey);
  if (active === undefined || activeKey === scopeKey) return;
  context.out.line(`Its Actors work in ${labelled(active.path)}, which stays attached.`);
  const one = context.suggested(`'svc actor update ACTOR --scope ${scopeKey}'`);
  context.out.line(`To let one of them work here: ${one}`);
}

async function optionalGroup(context: CommandContext): Promise<{ group_id?: string }> {
  const named = context.text("group");
  return named === undefined ? {} : { group_id: await groupNamed(context.client, named) };
}

export async function create(context: CommandContext): Promise<number> {
  return context.print("group_create", { title: context.arg(0), ...context.given("topic") }, (group) =>
    printGroup(context, group),
  );
}

export async function list(context: CommandContext): Promise<number> {
  const { out } = context;
  return context.print("group_list", {}, ({ groups }) => {
    if (groups.length === 0) {
      out.line(context.suggested(NO_GROUP));
      return;
    }
    out.table(
      ["GROUP", "STATE", "ACTORS", "UNREAD", "ATTENTION", "LAST EVENT", "TITLE"],
      groups.map((group) => [
        group.group_id,
        group.state,
        String(group.actors),
        String(group.unread),
        String(group.attention),
        group.last_event === null ? "" : moment(group.last_event.ts),
        labelled(group.title),
      ]),
    );
  });
}

export async function show(context: CommandContext): Promise<number> {
  return context.print("group_show", { group_id: await shownGroup(context) }, (group) =>
    printGroup(context, group),
  );
}

const STATES = ["active", "idle", "paused", "stopped"] as const;

export async function setState(context: CommandContext): Promise<number> {
  const state = STATES.find((name) => name === context.arg(0));
  if (state === undefined) throw context.usage(`STATE must be one of ${STATES.join(", ")}.`);
  return context.print("group_set_state", { group_id: await context.group(), state }, (group) =>
    context.out.line(`${group.group_id} is ${group.state}.`),
  );
}

export async function start(context: CommandContext): Promise<number> {
  return context.print("group_start", { group_id: await shownGroup(context) }, (group) =>
    context.out.line(`${group.group_id} is ${group.state}.`),
  );
}

export async function stop(context: CommandContext): Promise<number> {
  return context.print("group_stop", { group_id: await shownGroup(context) }, (group) =>
    context.out.line(`${group.group_id} is ${group.state}.`),
  );
}

/**
 * A whole number, true or false becomes that value. Anything else stays text, for the daemon to
 * judge.
 */
function settingOf(value: string): string | number | boolean {
  if (value === "true" || value === "false") return value === "true";
  return /^-?\d{1,15}$/.test(value) ? Number(value) : value;
}

/** `name=value` settings. */
function settingsOf(context: CommandContext): Partial<GroupSettings> {
  const settings: Record<string, string | number | boolean> = {};
  for (const assignment of context.list("set")) {
    const equals = assignment.indexOf("=");
    if (equals < 1) throw context.usage(`--set takes NAME=VALUE, not '${quotedName(assignment)}'.`);
    settings[assignment.slice(0, equals)] = settingOf(assignment.slice(equals + 1));
  }
  return settings;
}

export async function settings(context: CommandContext): Promise<number> {
  const changed = settingsOf(context);
  const scope = context.text("active-scope");
  const change = {
    ...context.given("title", "topic"),
    ...(scope === undefined ? {} : { active_scope_key: scope }),
    ...(Object.keys(changed).length === 0 ? {} : { settings: changed }),
  };
  const groupId = await context.group();
  if (Object.keys(change).length > 0)
    return context.print("group_update", { group_id: groupId, ...change }, (group) =>
      printGroup(context, group),
    );
  return context.print("group_show", { group_id: groupId }, ({ settings }) =>
    context.out.fields(Object.entries(settings).map(([name, value]) => [name, String(value)])),
  );
}

/** A command that nothing takes back takes the Group from its confirmation and never guesses. */
export async function confirmed(
  context: CommandContext,
  why = "This destroys data.",
): Promise<{ group_id: string; confirm: string }> {
  const again = context.text("confirm");
  if (again === undefined) throw context.usage(`${why} Repeat the Group's id or title: --confirm GROUP.`);
  if (/^(y|yes|true|ok)$/i.test(again))
    throw context.usage(`--confirm takes the Group's id or title, not '${quotedName(again)}'.`);
  const confirm = await groupNamed(context.client, again);
  const named = context.text("group");
  return { group_id: named === undefined ? confirm : await groupNamed(context.client, named), confirm };
}

export async function remove(context: CommandContext): Promise<number> {
  const target = await confirmed(context);
  return context.print("group_delete", target, () =>
    context.out.line(`${target.group_id} has been deleted.`),
  );
}

export async function reset(context: CommandContext): Promise<number> {
  return context.print("group_reset", await confirmed(context), (group) =>
    context.out.line(`${group.group_id} is now empty, with the generation ${group.generation}.`),
  );
}

/** Exits with 1 if a file had to be left out: a script that keeps backups has to notice. */
export async function exportGroup(context: CommandContext): Promise<number> {
  const path = resolve(context.arg(0));
  const envelope = await context.client.call("group_export", { group_id: await context.group(), path });
  const code = context.show(envelope, (result) => {
    context.out.line(
      `${result.path}: ${result.events} events, ${result.blobs} files, ${result.bytes} bytes.`,
    );
    for (const text of result.left_out ?? []) context.out.line(`  Left out: ${oneLine(text)}`);
  });
  return envelope.ok && envelope.result.left_out !== undefined ? 1 : code;
}

export async function importGroup(context: CommandContext): Promise<number> {
  const path = resolve(context.arg(0));
  return context.print("group_import", { path, ...context.given("title") }, (result) => {
    printGroup(context, result.group);
    context.out.line(
      `Imported ${result.events} events and ${result.blobs} files. Start it with: ${context.command("group", "start", result.group.group_id)}`,
    );
  });
}
