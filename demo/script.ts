/**
 * What the two agents of the demo say and do. Everything goes through their MCP tools; nothing is
 * written past them.
 */
import type { LedgerEvent } from "../shared/events.ts";
import type { Agent } from "./agent.ts";

export const PROJECT_FILES: Readonly<Record<string, string>> = {
  "checkout.test.log": [
    "checkout > sums the cart ............ ok",
    "checkout > applies the voucher ...... FAILED (1 of 20 runs)",
    "  expected 42.00, got 42.000000000000004",
    "checkout > sends the receipt ........ ok",
    "",
  ].join("\n"),
};

export const PERSON_ASKS = "The voucher test fails now and then. Can you two find out why?";

interface Batch {
  messages: { event: LedgerEvent }[];
  batch_id: string | null;
}

/** Takes messages until one comes, as an agent's loop does. */
export async function next(
  agent: Agent,
  ack: string | null,
): Promise<{ event: LedgerEvent; batch: string | null }> {
  for (let acknowledged = ack; ; acknowledged = null) {
    const input = { wait_seconds: 20, ...(acknowledged === null ? {} : { ack: acknowledged }) };
    const { messages, batch_id: batchId } = (await agent.tool("svc_inbox_read", input)) as unknown as Batch;
    const chat = messages.find(({ event }) => event.kind === "chat.message");
    if (chat) return { event: chat.event, batch: batchId };
  }
}

/** The foreman: takes the person's request, asks the coder, reports back. */
export async function planner(agent: Agent, pause: () => Promise<void>): Promise<void> {
  await agent.tool("svc_bootstrap");
  const asked = await next(agent, null);
  await pause();
  await agent.tool("svc_message_send", {
    to: ["coder"],
    message_mode: "request_reply",
    text: "The person says that **the voucher test is flaky**. Can you look into `checkout.test.log` and tell me the cause?",
    insight: "Find the cause, don't fix it yet.",
    idempotency_key: "demo-ask-coder",
  });
  const answered = await next(agent, asked.batch);
  await pause();
  await agent.tool("svc_file", { event_id: await attachmentOf(agent, answered.event) });
  await agent.tool("svc_message_reply", {
    event_id: asked.event.id,
    text: "It is **rounding**: the voucher is applied to a floating-point sum. We'd count in cents. The coder sent the log.",
  });
  await pause();
  await agent.tool("svc_message_send", {
    to: ["coder"],
    text: "Thanks! When you are at it: please count in cents everywhere in `checkout`.",
  });
  await next(agent, answered.batch);
}

/** The message of the coder's that carries the log. */
async function attachmentOf(agent: Agent, fallback: LedgerEvent): Promise<string> {
  const { events } = (await agent.tool("svc_message_history", { mode: "received", limit: 20 })) as {
    events: LedgerEvent[];
  };
  const carrier = events.findLast(({ kind, data }) => kind === "chat.message" && data.attachments.length > 0);
  return (carrier ?? fallback).id;
}

/** The peer: looks into it, sends the log, answers, and takes the Mail that follows. */
export async function coder(agent: Agent, pause: () => Promise<void>): Promise<void> {
  await agent.tool("svc_bootstrap");
  const asked = await next(agent, null);
  await pause();
  await agent.tool("svc_file_send", {
    to: ["planner"],
    message_mode: "mail",
    paths: ["checkout.test.log"],
    text: "The log of 20 runs.",
  });
  await pause();
  await agent.tool("svc_message_reply", {
    event_id: asked.event.id,
    message_mode: "send",
    text: "Found it:\n\n```\nexpected 42.00, got 42.000000000000004\n```\n\nThe voucher multiplies a float. The log is in your Inbox.",
  });
  const mail = await next(agent, asked.batch);
  await pause();
  await agent.tool("svc_message_reply", { event_id: mail.event.id, message_mode: "send", text: "On it." });
}
