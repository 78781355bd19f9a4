/** Runs and administers the account service. It is loaded only by these commands. */
import { labelled } from "../../shared/voice.ts";
import type { CommandContext } from "../context.ts";
import { oneLine } from "../output.ts";
import { moment } from "../render.ts";

type Main = typeof import("../../account/main.ts");
type Operator = Parameters<Parameters<Main["operate"]>[1]>[0];

function settings(context: CommandContext) {
  return {
    folder: context.text("folder"),
    host: context.text("host"),
    port: context.number("port"),
    origin: context.text("origin"),
    database: context.text("database"),
    proxies: context.number("proxies"),
  };
}

export async function run(context: CommandContext): Promise<number> {
  const { serve } = await import("../../account/main.ts");
  return serve(settings(context), context.out);
}

/** Runs `work` at the store and shows its result as JSON or with `render`. */
async function operate<Result>(
  context: CommandContext,
  work: (operator: Operator) => Promise<Result>,
  render: (result: Result) => void,
): Promise<number> {
  const main: Main = await import("../../account/main.ts");
  return context.show(await main.operate(settings(context), work), render);
}

export async function invite(context: CommandContext): Promise<number> {
  return operate(
    context,
    async (operator) => ({ link: await operator.invite(context.has("admin")) }),
    ({ link }) => context.out.line(link),
  );
}

export async function listMembers(context: CommandContext): Promise<number> {
  return operate(
    context,
    async (operator) => ({ members: await operator.members() }),
    ({ members }) => {
      if (members.length === 0) return context.out.line("There is no member yet.");
      context.out.table(
        ["NAME", "STATE", "DEVICES", "MEMBER"],
        members.map(({ id, name, is_admin: isAdmin, is_disabled: isDisabled, devices }) => [
          labelled(name),
          [isAdmin && "administrator", isDisabled && "disabled"].filter(Boolean).join(", "),
          String(devices),
          id,
        ]),
      );
    },
  );
}

export async function disableMember(context: CommandContext): Promise<number> {
  return operate(
    context,
    async (operator) => ({ retired_devices: await operator.disableMember(context.arg(0)) }),
    ({ retired_devices: retired }) => context.out.line(`Disabled. Devices retired: ${retired}.`),
  );
}

export async function listDevices(context: CommandContext): Promise<number> {
  return operate(
    context,
    async (operator) => ({ devices: await operator.devices() }),
    ({ devices }) => {
      if (devices.length === 0) return context.out.line("There is no device yet.");
      context.out.table(
        ["NAME", "MEMBER", "VERSION", "LAST CONTACT", "DEVICE"],
        devices.map(({ id, name, member, version, is_retired: isRetired, last_contact: contact }) => [
          labelled(name),
          labelled(member),
          oneLine(version ?? ""),
          isRetired ? "retired" : contact === null ? "not registered" : moment(contact),
          id,
        ]),
      );
    },
  );
}

export async function retireDevice(context: CommandContext): Promise<number> {
  return operate(
    context,
    async (operator) => {
      await operator.retireDevice(context.arg(0));
      return { retired: context.arg(0) };
    },
    ({ retired }) => context.out.line(`Retired ${retired}.`),
  );
}

export async function endConnections(context: CommandContext): Promise<number> {
  return operate(
    context,
    (operator) => operator.endConnections(),
    ({ connections, invitations }) =>
      context.out.line(`Ended. Connections: ${connections}. Open invitations: ${invitations}.`),
  );
}

export async function backup(context: CommandContext): Promise<number> {
  return operate(
    context,
    async (operator) => {
      operator.backup(context.arg(0));
      return { file: context.arg(0) };
    },
    ({ file }) => context.out.line(`Written to ${file}. Keep account.key with it.`),
  );
}

export async function move(context: CommandContext): Promise<number> {
  const main: Main = await import("../../account/main.ts");
  return context.show(await main.move(settings(context)), ({ rows }) =>
    context.out.line(`Copied. Rows: ${rows}. Start the service with the same --database and folder.`),
  );
}

export async function doctor(context: CommandContext): Promise<number> {
  const problems: string[] = [];
  const code = await operate(
    context,
    async (operator) => {
      problems.push(...(await operator.problems()));
      return { problems };
    },
    () => {
      for (const problem of problems) context.out.line(problem);
      if (problems.length === 0) context.out.line("No problems were found.");
    },
  );
  return problems.length === 0 ? code : 1;
}
