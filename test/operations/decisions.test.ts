import assert from "node:assert/strict";
import { OPERATIONS } from "../../shared/operations/registry.ts";

/** What a process that nobody knows may call as the user, beside reading. */
const ORDINARY = [
  "account_joined_seen",
  "actor_interrupt",
  "actor_restart",
  "actor_start",
  "actor_stop",
  "connect_peer_receive",
  "connect_send",
  "connect_send_files",
  "daemon_stop",
  "draft_put",
  "feed_read",
  "feed_unread",
  "file_fetch",
  "group_create",
  "group_set_state",
  "group_start",
  "group_stop",
  "group_update",
  "inbox_read",
  "ledger_compact",
  "ledger_reopen",
  "message_deliver",
  "message_withdraw",
  "notification_claim",
  "presentation_clear",
  "presentation_publish",
  "push_prepare",
  "push_subscribe",
  "push_test",
  "push_unsubscribe",
  "reply",
  "reply_request_cancel",
  "send",
  "send_cross_group",
  "send_files",
];

describe("operations that decide", () => {
  it("are all that change something as the user, but for what scripts and jobs do", () => {
    const changing = [...OPERATIONS.values()].filter(
      ({ callers, effect }) => callers.includes("user") && effect !== "read",
    );
    assert.deepEqual(
      changing
        .filter(({ decision }) => !decision)
        .map(({ name }) => name)
        .sort(),
      ORDINARY,
    );
  });

  it("are called by the user, and change something or lead to it", () => {
    const deciding = [...OPERATIONS.values()].filter(({ decision }) => decision);
    assert.ok(deciding.length > 20);
    assert.ok(deciding.every(({ callers }) => callers.includes("user")));
    const reading = deciding.filter(({ effect }) => effect === "read").map(({ name }) => name);
    assert.deepEqual(reading, ["connect_group_select"]);
  });
});
