/** The development login: any name, no proof. Only on loopback, where it is switched on. */
import type { Audit } from "../audit.ts";
import { displayNameOf } from "../devices/devices.ts";
import { DEVELOPMENT_ISSUER, type Members } from "../members/members.ts";
import type { Sessions } from "../members/sessions.ts";
import type { Store } from "../store/store.ts";
import type { Visit } from "./site.ts";

export interface DevelopmentDependencies {
  store: Store;
  members: Members;
  sessions: Sessions;
  audit: Audit;
}

/** Signs in as the member of this name, who is created on the first visit. */
export async function signInAs(deps: DevelopmentDependencies, visit: Visit, typed: string): Promise<void> {
  const name = displayNameOf(typed);
  const { address } = visit;
  await deps.store.transaction(async (db) => {
    const known = await deps.members.signingIn(db, DEVELOPMENT_ISSUER, name);
    const id = known ?? (await deps.members.create(db, { name, isAdmin: false, address }));
    if (known === null) await deps.members.addIdentity(db, DEVELOPMENT_ISSUER, name, id);
    await deps.audit.record(db, { event: "signed_in_development", member: id, address });
    await deps.sessions.signIn(db, visit.response, visit.browser, id);
  });
}
