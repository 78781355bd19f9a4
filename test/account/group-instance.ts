/** An instance as the account service sees it: it signs selections, and answers for its Groups. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { TestBrowser, TestDevice, TestService } from "./service.ts";
import { TestInstance } from "./service.ts";

type Ticket = Record<string, string>;

const TICKET = [
  "account_origin",
  "account_id",
  "instance_id",
  "instance_name",
  "device_id",
  "group_id",
  "group_generation",
  "title",
  "issued_at",
  "expires_at",
] as const;

export class GroupInstance extends TestInstance {
  readonly member: TestBrowser;
  readonly member_id: string;
  readonly device: TestDevice;
  /** Generation of each Group that it has. */
  readonly groups = new Map<string, string>();
  /** How it answers instead of properly. */
  answers: ((proper: Ticket) => { status: number; body: unknown }) | null = null;
  asked = 0;
  readonly #service: TestService;
  readonly #server: Server;

  private constructor(service: TestService, member: TestBrowser, memberId: string, device: TestDevice) {
    super();
    this.member = member;
    this.member_id = memberId;
    this.device = device;
    this.#service = service;
    this.#server = createServer((request, response) => {
      void json(request).then((question) => {
        this.asked += 1;
        const { ticket, nonce } = question as { ticket: Ticket; nonce: string };
        const { status, body } = this.#answer(ticket, nonce);
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      });
    });
  }

  /** Linked to the member's account, and registered with an origin that answers. */
  static async of(service: TestService, member: TestBrowser): Promise<GroupInstance> {
    const device = await service.device(member);
    const { account_id: accountId } = (await device.directory()).body;
    const made = new GroupInstance(service, member, accountId, device);
    made.#server.listen(0, "127.0.0.1");
    await once(made.#server, "listening");
    await made.register();
    return made;
  }

  get origin(): string {
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  async register(publicOrigin: string | null = this.origin): Promise<void> {
    this.#service.clock.advance(1);
    const { status, body } = await this.device.register(this, { public_origin: publicOrigin });
    if (status !== 200) throw new Error(JSON.stringify(body));
  }

  /** A selection of one of its Groups, with changes made before it is signed. */
  ticket(group: string, changes: Ticket = {}): Ticket {
    if (!this.groups.has(group)) this.groups.set(group, `generation of ${group}`);
    // No two selections are the same.
    this.#service.clock.advance(1);
    const now = this.#service.clock.now();
    const fields: Ticket = {
      account_origin: this.#service.origin,
      account_id: this.member_id,
      instance_id: this.instance_id,
      instance_name: "A machine",
      device_id: this.device.id,
      group_id: group,
      group_generation: this.groups.get(group)!,
      title: `Title of ${group}`,
      issued_at: new Date(now).toISOString(),
      expires_at: new Date(now + 24 * 3_600_000).toISOString(),
      ...changes,
    };
    const signature = this.sign(["svc.connect.group.ticket.v1", ...TICKET.map((name) => fields[name])]);
    return { ...fields, signature };
  }

  select(group: string): string {
    return encoded(this.ticket(group));
  }

  async invite(ticket: string, recipient: GroupInstance) {
    return this.submit({ ticket, recipient: recipient.member_id });
  }

  async accept(invitation: string, ticket: string) {
    return this.submit({ ticket, invitation });
  }

  /** Sends the form of the selection's page, or one that a page had. */
  async submit(fields: Record<string, string>) {
    return this.member.submit("/connect", "/connect/select", fields);
  }

  /** Ids of invitations to this member, newest first. */
  async invitations(): Promise<string[]> {
    const { body } = await this.member.get("/connect");
    return [...(body as string).matchAll(/svc connect accept ([0-9a-f-]{36})/gu)].map(([, id]) => id!);
  }

  /** Invited, and accepted by the other. Answers the connection's id. */
  async connect(group: string, other: GroupInstance, otherGroup: string): Promise<string> {
    const invited = await this.invite(this.select(group), other);
    if (invited.status !== 200) throw new Error(invited.body as string);
    const [invitation] = await other.invitations();
    const accepted = await other.accept(invitation!, other.select(otherGroup));
    const [, id] = /\/connect\/([0-9a-f-]{36})\/revoke/u.exec(accepted.body as string) ?? [];
    if (id === undefined) throw new Error(accepted.body as string);
    return id;
  }

  /** An answer about a Group, signed by this instance. */
  proof(fields: Ticket): Ticket {
    const signed = ["ticket_sha256", "nonce", "title", "expires_at"].map((name) => fields[name]);
    return { ...fields, signature: this.sign(["svc.connect.group.check.v1", ...signed]) };
  }

  async links(): Promise<{ id: string }[]> {
    const { status, body } = await this.device.get("/v1/connect/groups");
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body.links;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  #answer(ticket: Ticket, nonce: string): { status: number; body: unknown } {
    const ticketSha256 = createHash("sha256")
      .update(JSON.stringify(["svc.connect.group.ticket.v1", ...TICKET.map((name) => ticket[name])]))
      .digest("hex");
    const expiresAt = new Date(this.#service.clock.now() + 30_000).toISOString();
    const fields = { ticket_sha256: ticketSha256, nonce, title: ticket["title"]!, expires_at: expiresAt };
    const proper = this.proof(fields);
    if (this.answers !== null) return this.answers(proper);
    if (this.groups.get(ticket["group_id"]!) !== ticket["group_generation"]) return DENIED;
    return { status: 200, body: proper };
  }
}

export const DENIED = {
  status: 403,
  body: { ok: false, error: { code: "connect_group_denied", message: "It is gone.", details: {} } },
};

/** A ticket as the address of the page has it. */
export function encoded(ticket: object): string {
  return Buffer.from(JSON.stringify(ticket)).toString("base64url");
}
