/** The Groups of the Home with their ledgers. */
import { join } from "node:path";
import { UNLIMITED } from "../../../platform/descriptors.ts";
import { hasRoomForGroup } from "../../../platform/http/connections.ts";
import { missingWords } from "../../../shared/damage-words.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { LedgerDamage } from "../../../shared/ledger-damage.ts";
import { Examinations } from "../../groups/examinations.ts";
import { GroupRegistry } from "../../groups/registry.ts";
import { scopesInUse } from "../../groups/scopes.ts";
import { MessageProjections } from "../../messaging/projection/projections.ts";
import { type GroupProblem, groupsCheck, projectsCheck } from "../../operations/health.ts";
import type { Given } from "../given.ts";
import type { Service } from "../service.ts";

export interface Groups {
  registry: GroupRegistry;
  /** What messaging keeps of each ledger. */
  projections: MessageProjections;
  /** What a person's question reads through. */
  examinations: Pick<Examinations, "withFiles">;
}

type Parts = Pick<
  Given,
  "projects" | "log" | "files" | "clock" | "random" | "home" | "ledgerLimits" | "descriptors"
>;

export async function create(parts: Parts): Promise<Service<Groups>> {
  const { projects, log, files, clock, random, home, ledgerLimits, descriptors = UNLIMITED } = parts;
  const projections = new MessageProjections();
  const registry = await GroupRegistry.open({
    log,
    files,
    clock,
    random,
    paths: home.paths,
    kept: home.kept,
    checkOpenFiles() {
      if (hasRoomForGroup(descriptors)) return;
      const details = { limit: descriptors.limit, open: descriptors.inUse() };
      throw new Refusal("too_many_open_files", { details });
    },
    projectionsFor: (groupId) => projections.projectionsFor(groupId),
    keyOf: projections.keyOf,
    ...(ledgerLimits === undefined ? {} : { ledgerLimits }),
  });
  const examinations = new Examinations(registry, clock);
  return {
    part: { registry, projections, examinations },
    health: [
      groupsCheck(
        () => ({ open: registry.list().length, problems: problemsOf(registry, examinations) }),
        () => examinations.look(),
      ),
      projectsCheck(() =>
        registry.list().flatMap(({ group_id: groupId, record }) =>
          scopesInUse(record)
            .filter(({ path }) => !projects.isDirectory(path))
            .map(({ path }) => ({ group_id: groupId, path })),
        ),
      ),
    ],
    stop: () => registry.close(),
  };
}

function problemsOf(registry: GroupRegistry, examinations: Examinations): GroupProblem[] {
  const problems = registry.unavailable().map(({ group_id: groupId, reason }) => ({
    group_id: groupId,
    text: reason,
    remedy: `Put the Group's folder back from a backup and restart the daemon, or delete the Group: svc group delete --group ${groupId} --confirm ${groupId}. Nothing in it was changed.`,
  }));
  for (const group of registry.list()) {
    const { group_id: groupId, ledger, paths } = group;
    const { damage } = ledger;
    if (damage !== null) {
      problems.push({ group_id: groupId, ...damageFound(groupId, paths.ledger, damage) });
      continue;
    }
    const found = examinations.problemsOf(group);
    if (found.length === 0) continue;
    problems.push({
      group_id: groupId,
      text: found.join(" "),
      remedy:
        "Look at everything with 'svc ledger verify'. A restart of the daemon builds the index and projections again. Attach damaged files again, or restore them from a backup.",
    });
  }
  return problems;
}

function damageFound(
  groupId: string,
  directory: string,
  damage: LedgerDamage,
): Omit<GroupProblem, "group_id"> {
  const { files, problems } = damage;
  const kept =
    files.length === 0
      ? ""
      : ` The bytes are kept in ${files.map((name) => join(directory, name)).join(", ")}.`;
  return {
    text: `Its history is damaged, so nothing new is recorded in it. ${missingWords(damage)} ${problems.join(" ")}${kept}`,
    remedy: `To restore it, put the files back and run 'svc ledger reopen --group ${groupId}'. To go on without what is missing, run 'svc ledger continue --group ${groupId} --confirm ${groupId}'. Until then it can be read.`,
  };
}
