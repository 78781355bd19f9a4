/** Daemons with a certificate of a private authority, linked to an account of the real service. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { freePort } from "../../../demo/free-port.ts";
import type { TestBrowser } from "../../account/service.ts";
import { run } from "../../cli/svc.ts";
import type { TestAuthority } from "../../support/certificates.ts";
import { until } from "../../support/until.ts";
import { Side } from "../direct/two-homes.ts";

/** The environment of a process that finds the hosts below .svc.test on this machine. */
export const TEST_HOSTS = {
  NODE_OPTIONS: `--require=${join(import.meta.dirname, "../../support/test-hosts.cjs")}`,
};

/**
 * A daemon whose Web listener has a name and a certificate. It writes what it asks of others to the
 * file `requests`.
 */
export async function secured(
  title: string,
  host: string,
  authority: TestAuthority,
  requests?: string,
): Promise<Side> {
  const port = await freePort();
  const { cert, key } = authority.issue(host);
  const side = await Side.started(title, {
    SVC_WEB_PORT: String(port),
    SVC_TLS_CERT: cert,
    SVC_TLS_KEY: key,
    NODE_EXTRA_CA_CERTS: authority.certificate,
    ...TEST_HOSTS,
    ...(requests === undefined ? {} : { TEST_REQUESTS: requests }),
  });
  const set = await run(["origin", "set", `https://${host}:${port}`], { home: side.daemon.home });
  assert.equal(set.code, 0, set.err);
  return side;
}

/** Links it; `ann` approves on the account's page. */
export async function link(side: Side, ann: TestBrowser): Promise<void> {
  const { user_code: userCode } = await side.client.result("account_link", { account_origin: ann.origin });
  await ann.approve(userCode);
  await until("the directory", async () => {
    const { connect } = await side.client.result("connect_status", {});
    return connect?.directory ?? null;
  });
}

/** Asks the account service at once, for the directory and the connections. */
export function renamed(side: Side, name: string) {
  return side.client.result("connect_rename", { by: "user", display_name: name });
}
