/**
 * Reads the one form of request that our own clients send over the local socket: `POST /op/<name>
 * HTTP/1.1` with a Content-Length and a handful of known headers. Anything that differs is
 * `foreign` and goes to node:http. This reader never interprets a request differently; it only
 * knows fewer.
 */
import { LIMITS } from "../../../shared/limits.ts";
import { HEADERS, SOCKET_OPERATION_PREFIX } from "../../../shared/names.ts";

export interface OperationHead {
  operation: string;
  bodyBytes: number;
  /** Position after the empty line. */
  bodyStart: number;
  socketKey: string | undefined;
  launchToken: string | undefined;
  session: string | undefined;
}

const START = Buffer.from(`POST ${SOCKET_OPERATION_PREFIX}`, "latin1");
const REQUEST_LINE = /^POST \/op\/([a-z][a-z0-9_]{0,63}) HTTP\/1\.1$/;
/** A field line without empty or unusual parts: token, colon, visible ASCII and spaces. */
const FIELD = /^([A-Za-z0-9-]{1,64}):[ \t]*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)[ \t]*$/;
const LENGTH = /^(?:0|[1-9][0-9]{0,7})$/;
const JSON_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i;
const BARE_LINE_FEED = /[^\r]\n/;
const END_OF_HEAD = Buffer.from("\r\n\r\n", "latin1");
/** Fields without meaning for an operation. */
const WITHOUT_MEANING: ReadonlySet<string> = new Set(["host", "accept", "user-agent", "accept-language"]);

/**
 * The head of a request that begins at `from`; `incomplete` when more bytes could still make it
 * one.
 */
export function readHead(bytes: Buffer, from: number): OperationHead | "incomplete" | "foreign" {
  const known = Math.min(START.length, bytes.length - from);
  if (bytes.compare(START, 0, known, from, from + known) !== 0) return "foreign";
  const end = bytes.indexOf(END_OF_HEAD, from);
  if (end === -1) {
    if (bytes.length - from > LIMITS.body.headerBytes) return "foreign";
    return BARE_LINE_FEED.test(bytes.toString("latin1", from)) ? "foreign" : "incomplete";
  }
  if (end - from > LIMITS.body.headerBytes) return "foreign";
  const lines = bytes.toString("latin1", from, end).split("\r\n");
  const operation = REQUEST_LINE.exec(lines[0]!)?.[1];
  if (operation === undefined) return "foreign";
  const head: OperationHead = {
    operation,
    bodyBytes: -1,
    bodyStart: end + END_OF_HEAD.length,
    socketKey: undefined,
    launchToken: undefined,
    session: undefined,
  };
  let typed = false;
  let seen = "|";
  for (let index = 1; index < lines.length; index++) {
    const field = FIELD.exec(lines[index]!);
    if (field === null) return "foreign";
    const name = field[1]!.toLowerCase();
    const value = field[2]!;
    if (seen.includes(`|${name}|`)) return "foreign";
    seen += `${name}|`;
    switch (name) {
      case "content-length":
        if (!LENGTH.test(value)) return "foreign";
        head.bodyBytes = Number(value);
        break;
      case "content-type":
        if (!JSON_TYPE.test(value)) return "foreign";
        typed = true;
        break;
      case "connection":
        if (value.toLowerCase() !== "keep-alive") return "foreign";
        break;
      case HEADERS.socketKey:
        head.socketKey = value;
        break;
      case HEADERS.launchToken:
        head.launchToken = value;
        break;
      case HEADERS.session:
        head.session = value;
        break;
      default:
        if (!WITHOUT_MEANING.has(name)) return "foreign";
    }
  }
  const host = seen.includes("|host|");
  return host && typed && head.bodyBytes >= 0 && head.bodyBytes <= LIMITS.body.jsonBytes ? head : "foreign";
}
