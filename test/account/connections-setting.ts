/** What tests of connections between two members share. */
import { GroupInstance } from "./group-instance.ts";
import { type Kind, type TestBrowser, TestService } from "./service.ts";

/** A service on one kind of store, and two new members with an instance each for every test. */
export class ConnectionsSetting {
  service!: TestService;
  ann!: GroupInstance;
  ben!: GroupInstance;
  count = 0;
  readonly #kind: Kind;
  readonly #made: GroupInstance[] = [];

  constructor(kind: Kind) {
    this.#kind = kind;
  }

  /** Before the tests. */
  async start(): Promise<void> {
    this.service = await TestService.started({ kind: this.#kind });
  }

  /** Before each test: other members than before. */
  async next(): Promise<this> {
    this.count += 1;
    // The limits of a minute begin anew.
    this.ann = await this.instance(await this.service.member(`Ann ${this.count}`));
    this.ben = await this.instance(await this.service.member(`Ben ${this.count}`));
    return this;
  }

  /** After the tests. */
  async close(): Promise<void> {
    await Promise.all(this.#made.map((one) => one.close()));
    await this.service?.dispose();
  }

  /** A member's instance, which `close` ends. */
  readonly instance = async (member: TestBrowser): Promise<GroupInstance> => {
    const one = await GroupInstance.of(this.service, member);
    this.#made.push(one);
    return one;
  };

  /** The stored invitations that a member made. */
  readonly invitationsOf = (one: GroupInstance) =>
    this.service.store.db
      .selectFrom("group_invitations")
      .selectAll()
      .where("source_member", "=", one.member_id)
      .execute();

  /** The stored connections by a member's invitations, ended ones too. */
  readonly connectionsOf = (one: GroupInstance) =>
    this.service.store.db
      .selectFrom("group_connections")
      .selectAll()
      .where("source_member", "=", one.member_id)
      .execute();

  /** Those that haven't ended. */
  readonly active = async (one: GroupInstance) =>
    (await this.connectionsOf(one)).filter(({ closed_at: closedAt }) => closedAt === null);
}
