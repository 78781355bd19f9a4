/** The caller, access tokens, the advertised origin and the exhibit. */
import { typedOrigin } from "../../shared/typed-origin.ts";
import { labelled } from "../../shared/voice.ts";
import type { CommandContext } from "../context.ts";
import { groupNamed } from "../lookup.ts";
import { oneLine } from "../output.ts";
import { moment } from "../render.ts";

export async function whoami(context: CommandContext): Promise<number> {
  return context.print("whoami", {}, ({ by, actor }) =>
    context.out.line(
      actor === null
        ? `${by}: the owner of the Home ${context.home}`
        : `${by}: an Actor of ${actor.group_id}`,
    ),
  );
}

async function groupsOf(context: CommandContext): Promise<string[] | undefined> {
  const named = context.text("groups")?.split(",");
  if (named === undefined) return undefined;
  const ids: string[] = [];
  for (const group of named) ids.push(await groupNamed(context.client, group.trim()));
  return ids;
}

export async function createToken(context: CommandContext): Promise<number> {
  const groups = await groupsOf(context);
  const input = { ...context.given("name"), ...(groups === undefined ? {} : { groups }) };
  return context.print("access_token_create", input, ({ id, token }) => {
    context.out.note(`Token ${id}, shown only once:`);
    context.out.line(token);
  });
}

export async function listTokens(context: CommandContext): Promise<number> {
  return context.print("access_token_list", {}, ({ tokens }) => {
    if (tokens.length === 0) {
      context.out.line(context.suggested("No access tokens. Create one with 'svc token create'."));
      return;
    }
    context.out.table(
      ["ID", "KIND", "GROUPS", "CREATED", "LAST USED", "NAME"],
      tokens.map((token) => [
        token.id,
        token.kind,
        token.groups.join(",") || (token.kind === "administrator" ? "all" : "none"),
        moment(token.created_at),
        token.last_used_at === null ? "never" : moment(token.last_used_at),
        labelled(token.name),
      ]),
    );
  });
}

export async function revokeToken(context: CommandContext): Promise<number> {
  return context.print("access_token_revoke", { token_id: context.arg(0) }, () =>
    context.out.line(`${context.arg(0)} has been revoked.`),
  );
}

interface Origin {
  remote_access: { provider: string; enabled: boolean; origin: string | null };
}

function printOrigin(context: CommandContext, { remote_access: remoteAccess }: Origin): void {
  const { provider, enabled, origin } = remoteAccess;
  context.out.line(
    origin === null ? `Remote Access is ${provider}.` : `${origin} (${provider}, ${enabled ? "on" : "off"})`,
  );
}

export async function showOrigin(context: CommandContext): Promise<number> {
  return context.print("remote_access_show", {}, (result) => printOrigin(context, result));
}

export async function setOrigin(context: CommandContext, origin: string | null): Promise<number> {
  return context.print(
    "remote_access_set",
    { origin: origin === null ? null : typedOrigin(origin) },
    (result) => printOrigin(context, result),
  );
}

/** Exits with 1 unless others would find this instance there. */
export async function checkOrigin(context: CommandContext): Promise<number> {
  const answer = await context.client.call("remote_access_check", {});
  const code = context.show(answer, ({ origin, reached, problem }) =>
    context.out.line(
      reached ? `${origin ?? ""} leads to this instance.` : context.suggested(oneLine(problem ?? "")),
    ),
  );
  return answer.ok && !answer.result.reached ? 1 : code;
}

export async function showExhibit(context: CommandContext): Promise<number> {
  return context.print("exhibit_show", {}, ({ exhibit }) => {
    if (exhibit === null) context.out.line("The exhibit is off.");
    else
      context.out.fields([
        ["address", `${exhibit.host}:${exhibit.port}`],
        ["origin", exhibit.origin ?? "not listening"],
        ["groups", exhibit.groups.join(", ")],
      ]);
  });
}

export async function setExhibit(context: CommandContext): Promise<number> {
  const groups = await groupsOf(context);
  const port = context.number("port");
  if (groups === undefined) throw context.usage("Which Groups? Use --groups G,...");
  if (port === undefined) throw context.usage("Which port? Use --port.");
  const exhibit = { ...context.given("host"), port, groups };
  return context.print("exhibit_set", { exhibit }, ({ origin, token }) => {
    context.out.note(`The exhibit is at ${origin ?? "no address yet"}. Its token, shown only once:`);
    context.out.line(token ?? "");
  });
}

export async function exhibitOff(context: CommandContext): Promise<number> {
  return context.print("exhibit_set", { exhibit: null }, () => context.out.line("The exhibit is off."));
}
