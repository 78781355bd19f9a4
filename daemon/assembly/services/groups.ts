/** The Groups of the Home with their ledgers. */
import { Examinations } from "../../groups/examinations.ts";
import { GroupRegistry } from "../../groups/registry.ts";
import { MessageProjections } from "../../messaging/projection/projections.ts";
import { type GroupProblem, groupsCheck } from "../../operations/health.ts";
import type { Given } from "../given.ts";
import type { Service } from "../service.ts";

export interface Groups {
  registry: GroupRegistry;
  /** What messaging keeps of each ledger. */
  projections: MessageProjections;
}

type Parts = Pick<Given, "files" | "clock" | "random" | "home" | "ledgerLimits">;

export async function create(parts: Parts): Promise<Service<Groups>> {
  const { files, clock, random, home, ledgerLimits } = parts;
  const projections = new MessageProjections();
  const registry = await GroupRegistry.open({
    files,
    clock,
    random,
    paths: home.paths,
    projectionsFor: (groupId) => projections.projectionsFor(groupId),
    keyOf: projections.keyOf,
    ...(ledgerLimits === undefined ? {} : { ledgerLimits }),
  });
  const examinations = new Examinations(registry, clock);
  return {
    part: { registry, projections },
    health: [
      groupsCheck(
        () => ({ open: registry.list().length, problems: problemsOf(registry, examinations) }),
        () => examinations.look(),
      ),
    ],
    stop: () => registry.close(),
  };
}

function problemsOf(registry: GroupRegistry, examinations: Examinations): GroupProblem[] {
  const problems = registry.unavailable().map(({ group_id: groupId, reason }) => ({
    group_id: groupId,
    text: reason,
    remedy: "Restore the Group's directory from a backup, or delete the Group. Nothing in it was changed.",
  }));
  for (const group of registry.list()) {
    const found = examinations.problemsOf(group);
    if (found.length === 0) continue;
    problems.push({
      group_id: group.group_id,
      text: found.join(" "),
      remedy: "Look at everything with 'svc ledger verify', and restore the Group's ledger from a backup.",
    });
  }
  return problems;
}
