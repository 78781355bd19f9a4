/** The machine and the Home's files, which only have their health. */
import { isAlive } from "../../../client/process-state.ts";
import { UNLIMITED } from "../../../platform/descriptors.ts";
import { freeBytes, writeTrouble } from "../../../platform/disk-space.ts";
import { homeChecks } from "../../operations/health.ts";
import type { Given } from "../given.ts";
import type { Service } from "../service.ts";

type Parts = Pick<Given, "files" | "clock" | "home" | "hasModes" | "descriptors" | "program">;

export function create({
  files,
  clock,
  home,
  hasModes,
  program,
  descriptors = UNLIMITED,
}: Parts): Service<null> {
  const { paths, lock, settings, kept, tightened } = home;
  return {
    part: null,
    health: homeChecks({
      files,
      clock,
      paths,
      nodeVersion: process.versions.node,
      program,
      hasModes,
      socket: lock.socket,
      original: lock.original,
      isAlive,
      tightened,
      descriptors,
      neededTrouble: kept.problem,
      createdAt: () => settings.value.created_at,
      writeTrouble,
      freeBytes: () => freeBytes(paths.root),
    }),
  };
}
