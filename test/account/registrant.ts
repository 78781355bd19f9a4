/** A member of a real service, with a device and an instance that isn't registered yet. */
import assert from "node:assert/strict";
import { type Kind, type TestBrowser, type TestDevice, TestInstance, TestService } from "./service.ts";

export class Registrant {
  readonly service: TestService;
  readonly ada: TestBrowser;
  readonly device: TestDevice;
  readonly instance = new TestInstance();

  constructor(service: TestService, ada: TestBrowser, device: TestDevice) {
    this.service = service;
    this.ada = ada;
    this.device = device;
  }

  /** Every binding in the store, also those of others. */
  readonly bindings = async () => this.service.store.db.selectFrom("connect_instances").selectAll().execute();

  readonly bindingOf = async (id: string) => (await this.bindings()).find((row) => row.device_id === id);

  /** The service refuses this registration, and writes nothing. */
  readonly refused = async (
    body: unknown,
    status = 400,
    headers: Record<string, string> = {},
  ): Promise<void> => {
    const answer = await this.device.post("/v1/connect/instances", body, headers);
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    assert.deepEqual(Object.keys(answer.body), ["error"]);
    assert.deepEqual(Object.keys(answer.body.error), ["code", "message"]);
    assert.equal(await this.bindingOf(this.device.id), undefined);
  };
}

/** One service for the tests of a describe, and a member of it for each of them. */
export function useRegistrant(kind: Kind, take: (registrant: Registrant) => void): void {
  let service: TestService;
  let members = 0;
  before(async () => {
    service = await TestService.started({ kind });
  });
  beforeEach(async () => {
    members += 1;
    const ada = await service.member(`Ada ${members}`);
    take(new Registrant(service, ada, await service.device(ada)));
  });
  after(async () => service.dispose());
}
