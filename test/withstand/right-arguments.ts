/** Arguments of every operation that the daemon takes, to be made malformed. */
import assert from "node:assert/strict";
import type { OperationContract } from "../../shared/operations/contract.ts";
import { authorization, operations } from "../wire/sample.ts";

/** What there is in the Home. */
export interface There {
  group_id: string;
  event_id: string;
  scope_key: string;
  /** Of a file below the Group's folder. */
  path: string;
  sha256: string;
  relation_id: string;
  listener: { bind: string; address: string };
}

/** For each contract, arguments that fit it. */
export function rightArguments(there: There): (contract: OperationContract) => Record<string, unknown> {
  const {
    group_id: groupId,
    event_id: eventId,
    scope_key: scopeKey,
    path,
    sha256,
    relation_id: relationId,
    listener,
  } = there;
  const byName: Record<string, unknown> = {
    group_id: groupId,
    actor_id: "lead",
    event_id: eventId,
    source_event_id: eventId,
    dst_group_id: groupId,
    title: "title",
    topic: "topic",
    name: "name",
    text: "text",
    query: "query",
    actor: "lead",
    open: false,
    hidden: false,
    ts: "2026-11-22T00:00:00.000Z",
    confirm: "no",
    active_scope_key: scopeKey,
    scope_key: scopeKey,
    path,
    paths: [path],
    save_to: "copy.txt",
    state: "active",
    settings: {
      default_send_to: "foreman",
      min_interval_seconds: 0,
      mail_notice_after_seconds: 0,
      reply_notice_after_seconds: 0,
      start_actors: false,
    },
    runtime: "custom",
    runner: "external",
    command: ["run"],
    env: { A: "b" },
    set: { A: "b" },
    enabled: true,
    allow_tools: true,
    answerable: true,
    question_id: "0b7e6a52-5d4c-4c6e-9a51-d0c5b1f1a003",
    decision: "deny",
    answers: [["yes"]],
    message: "message",
    device_ids: ["device"],
    envelope: {
      proof: { ...authorization("external"), signature: `${"A".repeat(86)}==` },
      operation: operations("external").catalog,
    },
    prompts: false,
    new_conversation: false,
    unset: ["B"],
    to: ["lead"],
    message_mode: "send",
    format: "plain",
    insight: "insight",
    quote_text: "quote",
    reply_to: eventId,
    before_event_id: eventId,
    client_id: "key",
    refs: [{ kind: "link" }],
    slot: 1,
    kind: "markdown",
    url: "https://example.org/",
    attachments: [
      {
        sha256,
        name: "file.txt",
        mime_type: "text/plain",
      },
    ],
    sha256,
    actor_ids: ["lead"],
    force_ambiguous: false,
    mode: "all",
    limit: 5,
    ack: "batch",
    wait_seconds: 0,
    files: [
      {
        name: "file.txt",
        bytes: 6,
      },
    ],
    based_on: "then",
    before: eventId,
    after: eventId,
    from: "newest",
    kinds: ["chat.message"],
    event_ids: [eventId],
    with_obligation_status: false,
    prefix: eventId.slice(0, 8),
    groups: [groupId],
    exhibit: false,
    token_id: "token",
    origin: "https://example.test",
    // Nothing listens there.
    account_origin: "http://127.0.0.1:1",
    forget: false,
    instance_id: "instance",
    by: "user",
    target_group_id: "group",
    listener,
    display_name: "here",
    expected_listener: listener,
    invitation: "svc-direct:",
    id: relationId,
    hook_event_name: "Stop",
    key: `n_${"0".repeat(24)}`,
    endpoint: "https://fcm.googleapis.com/fcm/send/nobody",
    keys: { p256dh: "A".repeat(87), auth: "A".repeat(22) },
    push_id: "p_000000000000",
    draft: {
      text: "text",
      to: ["lead"],
      message_mode: "send",
      reply_to: eventId,
      quote_text: "quote",
      dst_group_id: groupId,
      dst_remote: {
        instance_id: "instance",
        instance_name: "it",
        group_id: "group",
        title: "title",
      },
      refs: [{ kind: "link" }],
      attachments: [
        {
          sha256,
          name: "a",
          mime_type: "text/plain",
          bytes: 6,
        },
      ],
    },
  };
  const special: Record<string, Record<string, unknown>> = {
    actor_add: { actor_id: "another" },
    ledger_search: { files: false },
    ledger_window: { before: 1, after: 1 },
    connect_group_select: { invitation: "0b7e6a52-5d4c-4c6e-9a51-d0c5b1f1a004" },
    push_subscribe: { kinds: ["waiting"] },
    exhibit_set: { exhibit: { host: "127.0.0.1", port: 0, groups: [groupId] } },
  };
  return (contract) => {
    const { shape } = contract.input._zod.def as unknown as { shape: Record<string, unknown> };
    const named = Object.keys(shape).map((name): [string, unknown] => {
      assert.ok(name in byName, `${contract.name}: what is right for ${name}?`);
      return [name, special[contract.name]?.[name] ?? byName[name]];
    });
    const made = Object.fromEntries(named);
    const parsed = contract.input.safeParse(made);
    assert.ok(parsed.success, `${contract.name}: ${parsed.error?.message}`);
    return made;
  };
}
