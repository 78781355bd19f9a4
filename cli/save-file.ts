/** Saves a file of a message where the person wants it. */
import { createHash } from "node:crypto";
import { createWriteStream, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import type { DaemonClient } from "../client/client.ts";
import { DaemonUnreachable } from "../client/failures.ts";
import { Refusal } from "../shared/errors.ts";
import { safeName } from "../shared/file-name.ts";
import type { Attachment } from "../shared/model.ts";
import { API_PREFIX } from "../shared/names.ts";

/**
 * Writes to `wanted`, or into it if it is a directory, and returns the absolute path. Throws the
 * Refusal `already_exists`, `invalid_path` or `file_damaged`, and DaemonUnreachable. It never
 * overwrites a file and leaves no partial file.
 */
export async function saveFile(
  client: DaemonClient,
  groupId: string,
  { name, sha256 }: Attachment,
  wanted: string,
): Promise<string> {
  const isDirectory = /[/\\]$/.test(wanted) || statSync(wanted, { throwIfNoEntry: false })?.isDirectory();
  const path = resolve(isDirectory ? join(wanted, safeName(name)) : wanted);
  const source = `${API_PREFIX}/groups/${groupId}/blobs/${sha256}`;
  const response = await client.open(
    source,
    {},
    { told: (silence) => void response.destroy(silence ?? undefined) },
  );
  const hash = createHash("sha256");
  const file = createWriteStream(path, { flags: "wx" });
  let opened = false;
  file.once("open", () => (opened = true));
  try {
    await pipeline(
      response,
      async function* (chunks: AsyncIterable<Buffer>) {
        try {
          for await (const chunk of chunks) {
            hash.update(chunk);
            yield chunk;
          }
        } catch (error) {
          if (error instanceof DaemonUnreachable) throw error;
          throw new DaemonUnreachable(client.home, "the file was cut off", error);
        }
      },
      file,
    );
    if (hash.digest("hex") !== sha256) throw new Error("the file was damaged on the way");
    return path;
  } catch (error) {
    response.destroy();
    if (opened) rmSync(path, { force: true });
    if (error instanceof DaemonUnreachable) await askWhy(client, source);
    throw problem(path, error);
  }
}

/**
 * A file that was found damaged on the way was cut off. Throws the Refusal that the next one gets.
 */
async function askWhy(client: DaemonClient, source: string): Promise<void> {
  try {
    (await client.open(source, {})).destroy();
  } catch (error) {
    if (!(error instanceof DaemonUnreachable)) throw error;
  }
}

function problem(path: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EEXIST")
    return new Refusal("already_exists", {
      specifics: `${path} already exists.`,
      remedy: "Choose another name.",
    });
  if (code === undefined || !/^E[A-Z]+$/.test(code)) return error;
  return new Refusal("invalid_path", {
    specifics: `${path} can't be written (${code}).`,
    remedy: "Choose an existing directory that you may write to.",
    cause: error,
  });
}
