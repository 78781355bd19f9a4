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

const IS_OVER =
  "I only follow the demo's script, and my part is over. To talk to a real agent, add one to a Group of your own.";

export const PERSON_ASKS = "The voucher test fails now and then. Can you two find out why?";

type Message = Extract<LedgerEvent, { kind: "chat.message" }>;

/** Messages and the batch that acknowledges them. */
interface Taken {
  messages: Message[];
  batch: string | null;
}

/** Acknowledges the batch before and waits for more. After a while there may be none. */
async function take(agent: Agent, ack: string | null): Promise<Taken> {
  const { messages, batch_id: batch } = (await agent.tool("svc_inbox_read", {
    wait_seconds: 20,
    ...(ack === null ? {} : { ack }),
  })) as unknown as { messages: { event: LedgerEvent }[]; batch_id: string | null };
  return {
    messages: messages.map(({ event }) => event).filter((event) => event.kind === "chat.message"),
    batch,
  };
}

/** Takes messages until one comes that is meant, as an agent's loop does. */
export async function next(
  agent: Agent,
  ack: string | null,
  isMeant: (message: Message) => boolean = () => true,
): Promise<{ event: Message; batch: string | null }> {
  for (let acknowledged = ack; ; ) {
    const { messages, batch } = await take(agent, acknowledged);
    const event = messages.find(isMeant);
    if (event) return { event, batch };
    acknowledged = batch;
  }
}

/**
 * Goes on when the agent's part is over: takes what comes, and tells a person here that nobody
 * reads it. Ends with the agent.
 */
export async function listen(agent: Agent, ack: string | null): Promise<void> {
  try {
    for (let acknowledged = ack; ; ) {
      const { messages, batch } = await take(agent, acknowledged);
      for (const { id, by } of messages)
        if (by === "user") await agent.tool("svc_message_reply", { event_id: id, text: IS_OVER });
      acknowledged = batch;
    }
  } catch (error) {
    if (!agent.isOver) throw error;
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
  const isReply = ({ by, data }: Message) => by === "coder" && data.message_mode !== "mail";
  const answered = await next(agent, asked.batch, isReply);
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
  const last = await next(agent, answered.batch, isReply);
  void listen(agent, last.batch);
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
  void listen(agent, mail.batch);
}
