/** Certificate and key of the HTTPS listener. */

import { readWhole } from "../durable.ts";
import type { Files } from "../files.ts";
import { HomeProblem } from "../problem.ts";

/** Reads PEM files. This user must own the key, and no one else may read it. Throws HomeProblem. */
export function readTlsFiles(
  files: Files,
  host: { platform: NodeJS.Platform; uid: number },
  paths: { cert: string; key: string },
): { cert: string; key: string } {
  const status = files.stat(paths.key);
  if (status?.kind === "file" && host.platform !== "win32") {
    if (status.uid !== host.uid || (status.mode & 0o077) !== 0) {
      throw new HomeProblem(
        "insecure",
        paths.key,
        "Others can read the TLS key or own it.",
        `Close it: chmod 600 '${paths.key}'.`,
      );
    }
  }
  return { cert: read(files, paths.cert), key: read(files, paths.key) };
}

function read(files: Files, path: string): string {
  const bytes = readWhole(files, path);
  if (bytes === null)
    throw new HomeProblem("unreadable", path, "The file doesn't exist.", "Give an existing PEM file.");
  return Buffer.from(bytes).toString("utf8");
}
