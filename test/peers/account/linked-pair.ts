/** Two daemons and the account service to which both are linked, behind a proxy that can fail. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InstanceIdentity } from "../../../daemon/home/identity.ts";
import { RealFiles } from "../../../platform/real-files.ts";
import { FailingProxy } from "../../account/failing-proxy.ts";
import { type TestBrowser, TestService } from "../../account/service.ts";
import { TestAuthority } from "../../support/certificates.ts";
import { MachineClock } from "../../support/manual-clock.ts";
import { until } from "../../support/until.ts";
import type { Side } from "../direct/two-homes.ts";
import { link, renamed, secured } from "./linked-side.ts";

type Headers = (port: string) => Record<string, string>;

/** Both are linked to Ann's account, know each other, and have a name by their person. */
export class LinkedPair {
  proxy!: FailingProxy;
  service!: TestService;
  ann!: TestBrowser;
  one!: Side;
  two!: Side;
  #authority!: TestAuthority;
  /** Has a file for each daemon, with what it asked of the other. */
  readonly #requests = mkdtempSync(join(tmpdir(), "svc-requests-"));

  async start(): Promise<void> {
    this.#authority = new TestAuthority();
    this.proxy = await FailingProxy.open();
    this.service = await TestService.started({ origin: this.proxy.origin, clock: new MachineClock() });
    this.proxy.port = this.service.settings.port;
    this.ann = await this.service.member("Ann");
    [this.one, this.two] = await Promise.all([
      secured("One", "one.svc.test", this.#authority, join(this.#requests, "one")),
      secured("Two", "two.svc.test", this.#authority, join(this.#requests, "two")),
    ]);
    const release = this.proxy.hold("/v1/device/name");
    await link(this.one, this.ann);
    await until("its own name on its way", () => this.namings().length === 1);
    await link(this.two, this.ann);
    // Each learns about the other at its next refresh, which a new name brings about.
    const byPerson = renamed(this.one, "First machine");
    await this.two.client.result("account_show", {});
    await this.one.client.result("account_show", {});
    release();
    await byPerson;
    await renamed(this.two, "Second machine");
  }

  /** Also after a start that failed. */
  async dispose(): Promise<void> {
    await Promise.all([this.one?.dispose(), this.two?.dispose()]);
    await this.proxy?.close();
    await this.service?.dispose();
    this.#authority?.remove();
    rmSync(this.#requests, { recursive: true, force: true });
  }

  /** Host, method and path of everything that the daemons asked each other. */
  asked(): Set<string> {
    const lines = ["one", "two"].flatMap((name) =>
      readFileSync(join(this.#requests, name), "utf8").trimEnd().split("\n"),
    );
    return new Set(lines.map((line) => line.replace(/\?.*/u, "")));
  }

  /** What was asked of `/v1/device/name`, with whose token. */
  readonly namings = () =>
    this.proxy.passed
      .filter(({ path }) => path === "/v1/device/name")
      .map(({ authorization, body }) => ({
        authorization,
        name: (JSON.parse(body) as { display_name: string }).display_name,
      }));

  /** What an instance's Web answers. */
  readonly statusOf = async (side: Side, path: string, headers: Headers = () => ({})) => {
    const { remote_access: access } = await side.client.result("remote_access_show", {});
    const { hostname: servername, host, port } = new URL(access.origin ?? "");
    const sent = request({
      host: "127.0.0.1",
      port,
      servername,
      ca: this.#authority.pem,
      path,
      headers: { host, ...headers(port) },
      agent: false,
    });
    sent.end();
    const [{ statusCode }] = (await once(sent, "response")) as [IncomingMessage];
    return statusCode;
  };

  /** How it answers a caller who asks for its Groups. */
  readonly groupsOf = (side: Side, headers: Headers) => this.statusOf(side, "/api/v1/groups", headers);

  /** The names of all devices at the account service. */
  readonly names = async () =>
    (await this.service.store.db.selectFrom("devices").select("display_name").execute()).map(
      (device) => device.display_name,
    );
}

/** The identity that a daemon keeps in its Home. */
export function identityOf({ daemon }: Side): InstanceIdentity {
  const identity = InstanceIdentity.read(
    new RealFiles(),
    join(daemon.home, "group_bridge_identity_key.yaml"),
  );
  assert.ok(identity);
  return identity;
}
