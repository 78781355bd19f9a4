/** Which product versions may use the service (docs/account-service.md#versions). */
import { Refusal } from "../../shared/errors.ts";
import { FIRST_CONNECT_VERSION, MEMBERSHIP_VERSION } from "../../shared/names.ts";

/** A version of semver 2.0.0, in parts that can be compared. */
interface Version {
  numbers: readonly [number, number, number];
  /** Identifiers of a pre-release; empty for a release. */
  pre: readonly string[];
}

const NUMBER = "(0|[1-9][0-9]{0,8})";
const SEMVER = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-((?:[0-9A-Za-z-]+)(?:\\.[0-9A-Za-z-]+)*))?(?:\\+[0-9A-Za-z.-]+)?$`,
  "u",
);

function parse(text: string): Version | null {
  const match = SEMVER.exec(text);
  if (match === null) return null;
  const [major, minor, patch] = match.slice(1, 4).map(Number) as [number, number, number];
  return { numbers: [major, minor, patch], pre: match[4]?.split(".") ?? [] };
}

/** Semver 2.0.0, section 11. */
function compare(a: Version, b: Version): number {
  for (const [index, number] of a.numbers.entries()) {
    const difference = number - b.numbers[index]!;
    if (difference !== 0) return difference;
  }
  if (a.pre.length === 0 || b.pre.length === 0) return b.pre.length - a.pre.length;
  for (const [index, part] of a.pre.entries()) {
    const other = b.pre[index];
    if (other === undefined) return 1;
    const difference = compareIdentifiers(part, other);
    if (difference !== 0) return difference;
  }
  return a.pre.length - b.pre.length;
}

function compareIdentifiers(a: string, b: string): number {
  const [first, second] = [/^[0-9]+$/u.test(a), /^[0-9]+$/u.test(b)];
  if (first && second) return Number(a) - Number(b);
  if (first !== second) return first ? -1 : 1;
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Whether `text` is a version that the gate can compare. */
export function isVersion(text: string): boolean {
  return parse(text) !== null;
}

export class VersionGate {
  readonly #membership: string | null;
  /** The higher of the first version with Connect and the deployment's minimum (VER-007). */
  readonly #connect: string;
  /** The version that was asked about last: most of a directory's instances have the same. */
  #asked = { version: "", lists: false };

  /** `minimum` is MEMBERSHIP_MIN_CLIENT_VERSION; null where it isn't set. */
  constructor(minimum: string | null) {
    this.#membership = minimum;
    this.#connect =
      minimum !== null && reaches(minimum, FIRST_CONNECT_VERSION) ? minimum : FIRST_CONNECT_VERSION;
  }

  /** Throws `unsupported_version` for a daemon that is too old for the deployment (VER-006). */
  checkMembership(version: string | undefined): void {
    if (this.#membership !== null) check(version, this.#membership);
  }

  /** The same for registration and directory, and for the version of the account API. */
  checkConnect(version: string | undefined, protocol: string | undefined): void {
    if (protocol !== MEMBERSHIP_VERSION) {
      throw new Refusal("unsupported_version", {
        specifics: `This service speaks version ${MEMBERSHIP_VERSION} of the account API.`,
      });
    }
    check(version, this.#connect);
  }

  /** Whether an instance of this version is listed. */
  lists(version: string): boolean {
    if (this.#asked.version !== version) this.#asked = { version, lists: reaches(version, this.#connect) };
    return this.#asked.lists;
  }
}

function reaches(version: string, minimum: string): boolean {
  const found = parse(version);
  return found !== null && compare(found, parse(minimum)!) >= 0;
}

function check(version: string | undefined, minimum: string): void {
  if (version !== undefined && reaches(version, minimum)) return;
  throw new Refusal("unsupported_version", {
    specifics: `This service needs version ${minimum} or later.`,
    remedy: "Update this instance.",
    details: { minimum },
  });
}
