/** Instances and Groups of others by their names, where both kinds of connections lead there. */
import assert from "node:assert/strict";
import { instanceNamed, remoteGroupNamed } from "../../cli/lookup.ts";
import type { DaemonClient } from "../../client/client.ts";

const INSTANCE = `12D3KooW${"A".repeat(44)}`;

/** A daemon to which the instance is known by the account as "Lab" and by a pair as "vm". */
function daemon(status: "ready" | "unavailable"): DaemonClient {
  const of = (name: string) => ({ instance_id: INSTANCE, display_name: name });
  const found = {
    instances: status === "ready" ? [of("Lab")] : [],
    external_groups: [{ instance: of("vm"), group_id: "g_aaaaaaaaaaaa", title: "Cellar" }],
    status,
    account_error: status === "ready" ? null : "It was refused.",
  };
  // Only this is asked for.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { result: async () => found } as unknown as DaemonClient;
}

describe("names of other instances and their Groups", () => {
  it("are those of the account and those of connections", async () => {
    for (const name of ["Lab", "vm"])
      assert.equal(await instanceNamed(daemon("ready"), "g_000000000000", name), INSTANCE);
    await assert.rejects(instanceNamed(daemon("ready"), "g_000000000000", "Attic"), /isn't connected/u);
  });

  it("aren't known while the account isn't confirmed", async () => {
    assert.equal(await instanceNamed(daemon("unavailable"), "g_000000000000", "vm"), INSTANCE);
    await assert.rejects(instanceNamed(daemon("unavailable"), "g_000000000000", "Lab"), /It was refused\./u);
  });

  it("lead to a Group of a connection, and others of the account go by their ids", async () => {
    const named = (title: string, status: "ready" | "unavailable" = "ready") =>
      remoteGroupNamed(daemon(status), "g_000000000000", INSTANCE, title);
    assert.equal(await named("Cellar"), "g_aaaaaaaaaaaa");
    await assert.rejects(named("Attic"), /Name any other Group of it by its id\./u);
    await assert.rejects(named("Attic", "unavailable"), /isn't connected to a Group 'Attic'/u);
  });
});
