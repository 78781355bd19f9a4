/** Daemons of one account of the shipped service that reach each other over HTTPS on loopback. */
import { join } from "node:path";
import { freePort } from "../../demo/free-port.ts";
import { type Member, Service } from "../../demo/service.ts";
import { ENVIRONMENT } from "../../shared/names.ts";
import { TestAuthority } from "../../test/support/certificates.ts";
import { requireBundles, SVC } from "../daemon.ts";
import { scratchPath } from "../folder.ts";
import { type Instance, startInstance, stopAll, until } from "./direct.ts";

/** This machine, as `test-hosts.cjs` has it. */
const HOST = "bench.svc.test";
const HOSTS = join(import.meta.dirname, "../../test/support/test-hosts.cjs");
const MEMBER = "Ann";

/** An account service with one member, and the member's instances. */
export class Account {
  readonly #service: Service;
  readonly #member: Member;
  readonly #authority: TestAuthority;
  readonly #certificate: { cert: string; key: string };
  readonly #instances: Instance[] = [];

  private constructor(service: Service, member: Member, authority: TestAuthority) {
    this.#service = service;
    this.#member = member;
    this.#authority = authority;
    this.#certificate = authority.issue(HOST);
  }

  static async open(): Promise<Account> {
    await requireBundles();
    const service = new Service(SVC, scratchPath("account"));
    process.once("exit", () => service.kill());
    await service.open();
    return new Account(service, await service.member(MEMBER), new TestAuthority());
  }

  /** An instance with a certificate and an origin, linked and listed. */
  async instance(): Promise<Instance> {
    const port = await freePort();
    const { cert, key } = this.#certificate;
    const instance = await startInstance({
      environment: {
        [ENVIRONMENT.webPort]: `${port}`,
        [ENVIRONMENT.tlsCert]: cert,
        [ENVIRONMENT.tlsKey]: key,
        NODE_OPTIONS: `--require=${HOSTS}`,
        NODE_EXTRA_CA_CERTS: this.#authority.certificate,
      },
    });
    this.#instances.push(instance);
    const { client } = instance.daemon;
    await client.result("remote_access_set", { origin: `https://${HOST}:${port}` });
    const { user_code: code } = await client.result("account_link", {
      account_origin: this.#service.origin,
    });
    await this.#member.approve(code);
    await until("the directory", async () => {
      const { connect } = await client.result("connect_status", {});
      return connect?.directory ?? null;
    });
    return instance;
  }

  /** Lets an instance ask for the directory now: a new name does that. */
  async refresh({ daemon }: Instance, name: string): Promise<void> {
    await daemon.client.result("connect_rename", { by: "user", display_name: name });
  }

  async close(): Promise<void> {
    await stopAll(this.#instances);
    await this.#service.close();
    this.#authority.remove();
  }
}
