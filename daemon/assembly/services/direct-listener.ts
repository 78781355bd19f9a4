/**
 * Direct's listening and dialling. It comes after the Web listener: where both are told to use one
 * port, the Workbench stays, and shows why Direct can't listen.
 */
import type { Direct } from "../../peers/direct/direct.ts";
import type { Service } from "../service.ts";

interface Parts {
  direct: Pick<Direct, "start">;
}

/** The service `direct` ends it. */
export function create({ direct }: Parts): Service<null> {
  return { part: null, start: () => direct.start() };
}
