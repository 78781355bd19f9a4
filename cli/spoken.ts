/** If a refusal names a field of an operation, shows the option or argument that it came from. */

/** The parts of a command that name its arguments. */
export interface Naming {
  words: string;
  args?: string;
  rest?: string;
  options?: readonly { name: string }[];
}

/** Fields whose option has a different name. */
const OPTIONS: Readonly<Record<string, string>> = {
  message_mode: "mode",
  client_id: "idempotency-key",
  paths: "attach",
  actor_ids: "to",
  dst_group_id: "local-group",
  before_event_id: "before",
  wait_seconds: "wait",
  access_token_id: "id",
  id: "connection",
  origin: "url",
  account_origin: "account",
};

/** `'group_id' isn't ... Check 'group_id'.` becomes `--group isn't ... Check --group.` */
export function spoken(message: string, details: Readonly<Record<string, unknown>>, command: Naming): string {
  const { field } = details;
  if (typeof field !== "string" || field === "") return message;
  const name = nameOf(field, command);
  return name === null ? message : message.replaceAll(`'${field}'`, name);
}

function nameOf(field: string, command: Naming): string | null {
  const root = /^[^.[]*/.exec(field)?.[0] ?? "";
  const short = root.replace(/_id$/, "").replace(/^(source|target)_/, "");
  const names = [OPTIONS[root] ?? "", root.replaceAll("_", "-"), short.replaceAll("_", "-")];
  const args: string[] = (command.args ?? "").match(/\w+/g) ?? [];
  for (const name of names) {
    if (command.options?.some((option) => option.name === name)) return `--${name}`;
    if (args.includes(name)) return name.toUpperCase();
  }
  // An Actor is named by its id, and its command comes after `--`.
  if (root === "actor_id" && args.includes("id")) return "ID";
  return root === "command" && command.rest !== undefined ? command.rest : null;
}
