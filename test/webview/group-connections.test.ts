/** The connections of an open dialog, asked for over a slow line. */
import assert from "node:assert/strict";
import { HostError } from "../../webview/hosts/host.ts";
import { type DirectStatus, GroupConnections } from "../../webview/state/group-connections.ts";

const GROUP = "g_00000000000a";

function status(displayName: string): DirectStatus {
  return { listener: null, display_name: displayName, addresses: [], runtime: null, relations: [] };
}

describe("Connections that are asked for again and again", () => {
  let answers: { resolve: (status: DirectStatus) => void; reject: (error: Error) => void }[];
  let connections: GroupConnections;

  beforeEach(() => {
    answers = [];
    const call = (name: string) =>
      name !== "connect_direct_status"
        ? Promise.resolve({ connections: [] })
        : new Promise<DirectStatus>((resolve, reject) => {
            answers.push({ resolve, reject });
          });
    connections = new GroupConnections({ call: call as never }, GROUP, 1000, () => true);
  });

  it("stay as a later question found them when an earlier one is answered after it", async () => {
    const poll = connections.refresh();
    const afterChange = connections.refresh();
    answers[1]!.resolve(status("new"));
    await afterChange;
    answers[0]!.resolve(status("old"));
    await poll;
    assert.equal(connections.status?.display_name, "new");
  });

  it("aren't called old because an earlier question failed after it", async () => {
    const poll = connections.refresh();
    const afterChange = connections.refresh();
    answers[1]!.resolve(status("new"));
    await afterChange;
    answers[0]!.reject(new HostError("offline", "The daemon can't be reached."));
    await poll;
    assert.equal(connections.failure, null);
    const next = connections.refresh();
    answers[2]!.reject(new HostError("offline", "The daemon can't be reached."));
    await next;
    assert.equal(connections.failure, "The daemon can't be reached.");
    assert.equal(connections.status?.display_name, "new");
  });
});
