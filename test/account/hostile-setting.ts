/** What tests of hostile requests share. */
import { trusting } from "./issuers.ts";
import { type Kind, TestService } from "./service.ts";

/** A service with every way to sign in, so that each of its routes is there. */
export function hostileService(kind: Kind): Promise<TestService> {
  // Nothing listens there.
  return TestService.started({ kind, issuer: trusting("http://localhost:1", false) });
}
