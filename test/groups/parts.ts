/** What stands in for the services above and below Groups. */
import type { ActorRunner } from "../../daemon/groups/actors.ts";
import { defaultSettings, Settings } from "../../daemon/home/settings.ts";
import { JsonDocument } from "../../platform/documents.ts";
import type { Files } from "../../platform/files.ts";

/** Runs nothing: Actors are only noted. */
export const NO_RUNNER: ActorRunner = {
  check: () => {},
  start: async () => null,
  stop: async () => {},
  restart: async () => null,
  interrupt: () => {},
  isRunning: () => false,
};

/** A Home's settings, made when it has none. */
export async function openSettings(files: Files, path: string): Promise<JsonDocument<Settings>> {
  const document = { files, path, version: 1, schema: Settings };
  return (
    (await JsonDocument.read(document)) ??
    (await JsonDocument.create(document, defaultSettings("2026-01-01T00:00:00.000Z")))
  );
}
