/**
 * The launch token of the Actor as which this process acts
 * (docs/core-model.md#identity-of-a-caller), from the owner-only file that the environment names.
 * If a file is named, the process is that Actor or nothing: a bad token is refused, never ignored.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { Refusal } from "../shared/errors.ts";
import { ENVIRONMENT } from "../shared/names.ts";

type Environment = Readonly<Record<string, string | undefined>>;
/** The maximum size of a token file. A token is far shorter. */
const FILE_BYTES = 4096;
/** Links aren't followed, and a FIFO at this path can't block the process. */
const OPEN = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const TOKEN = /^[\x21-\x7e]{16,512}$/;

function refused(specifics: string, cause?: unknown): Refusal {
  return new Refusal("invalid_launch_token", { specifics, ...(cause === undefined ? {} : { cause }) });
}

function readOwnerOnly(path: string): string {
  let descriptor: number;
  try {
    descriptor = openSync(path, OPEN);
  } catch (error) {
    throw refused(`The file that ${ENVIRONMENT.actorFile} names can't be opened.`, error);
  }
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) throw refused(`${ENVIRONMENT.actorFile} doesn't name a regular file.`);
    if (process.getuid && (stat.uid !== process.getuid() || (stat.mode & 0o077) !== 0))
      throw refused(
        `Others can read the file that ${ENVIRONMENT.actorFile} names. You must own it, with mode 0600.`,
      );
    if (stat.size > FILE_BYTES)
      throw refused(`The file that ${ENVIRONMENT.actorFile} names contains no launch token.`);
    const bytes = Buffer.alloc(FILE_BYTES);
    return bytes.toString("utf8", 0, readSync(descriptor, bytes, 0, FILE_BYTES, 0));
  } finally {
    closeSync(descriptor);
  }
}

/** A token file is a JSON document with the member `token`. */
function tokenOf(content: string): string {
  try {
    const { token } = JSON.parse(content) as { token?: unknown };
    return typeof token === "string" ? token : "";
  } catch {
    return "";
  }
}

/** The token, or null if the environment names none. Throws the Refusal `invalid_launch_token`. */
export function launchToken(environment: Environment = process.env): string | null {
  if (environment[ENVIRONMENT.launchToken] !== undefined)
    throw refused(
      `${ENVIRONMENT.launchToken} is no longer read. Unset it and name the Actor's token file in ${ENVIRONMENT.actorFile}.`,
    );
  const file = environment[ENVIRONMENT.actorFile];
  if (file === undefined) return null;
  const token = tokenOf(readOwnerOnly(file));
  if (!TOKEN.test(token))
    throw refused(`The file that ${ENVIRONMENT.actorFile} names contains no launch token.`);
  return token;
}
