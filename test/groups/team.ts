/** What tests of Actors share: a Group with three of them, and what the disk holds of it. */
import { readFileSync } from "node:fs";
import { temporaryDirectory } from "../home/setting.ts";
import { openGroups } from "./setting.ts";

/** A Group with a foreman and two peers. */
export async function team() {
  const root = temporaryDirectory();
  const setting = await openGroups(root);
  const { group_id: groupId } = await setting.call("group_create", { title: "Team" });
  for (const actorId of ["lead", "ann", "bob"])
    await setting.call("actor_add", { group_id: groupId, actor_id: actorId });
  const group = setting.registry.get(groupId);
  return { ...setting, root, group_id: groupId, group };
}

/** Every event of the Group, as text. */
export function ledgerText(setting: Awaited<ReturnType<typeof team>>): string {
  const { ledger } = setting.group;
  return JSON.stringify(Array.from({ length: ledger.count }, (_, at) => ledger.read(at)));
}

/** The launch token in this file. */
export function tokenOf(file: string): string {
  return (JSON.parse(readFileSync(file, "utf8")) as { token: string }).token;
}
