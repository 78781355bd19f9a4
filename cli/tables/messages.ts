/** Messages, the Inbox and reading the ledger. */
import { LIMITS } from "../../shared/limits.ts";
import type { Command, Option } from "../command.ts";
import { GROUP, LIMIT } from "./options.ts";

const messages = () => import("../commands/messages.ts");
const ledger = () => import("../commands/ledger.ts");
const other = () => import("../commands/connect.ts");
const inbox = () => import("../commands/inbox.ts");

const TO: Option = {
  name: "to",
  short: "t",
  value: "RECIPIENT",
  many: true,
  text: "An Actor's id or unique title, @all, @peers, @foreman or user",
};
const ATTACH: Option = {
  name: "attach",
  short: "a",
  value: "FILE",
  many: true,
  text: `Attach a file (at most ${LIMITS.message.attachments})`,
};
const INSIGHT: Option = {
  name: "insight",
  value: "TEXT",
  text: "What the reader should take away, in one sentence",
};
const KEY: Option = {
  name: "idempotency-key",
  value: "KEY",
  text: "Sending again with the same key and content doesn't create a second message",
};
const FORMAT: Option = {
  name: "format",
  value: "FORMAT",
  choices: ["markdown", "plain"],
  text: "markdown or plain",
};
const ACTOR: Option = { name: "actor", value: "ACTOR", text: "The Actor's id or unique title" };

export const messageCommands: readonly Command[] = [
  {
    words: "send",
    args: "<text>",
    operations: ["send", "send_cross_group", "connect_send"],
    summary: "Send a message. If TEXT is -, it is read from standard input.",
    options: [
      GROUP,
      TO,
      {
        name: "mode",
        short: "m",
        value: "MODE",
        choices: ["send", "request-reply", "mail"],
        text: "send (default), request-reply or mail",
      },
      ATTACH,
      KEY,
      INSIGHT,
      FORMAT,
      {
        name: "reply-to",
        value: "EVENT",
        text: "The message that this one follows, without answering a request",
      },
      { name: "local-group", value: "GROUP", text: "Send to this other Group in the Home" },
      {
        name: "dst-instance",
        value: "INSTANCE",
        text: "Send to this other instance: its id or unique name ('svc connect' lists them)",
      },
      { name: "dst-group", value: "GROUP", text: "With --dst-instance: the Group there, by id or title" },
    ],
    examples: [
      "svc send 'Please look at the tests' --to coder --mode request-reply",
      "git diff | svc send - --to @all",
      "svc send 'The build is green' --dst-instance 12D3KooW... --dst-group g_0123456789ab",
    ],
    run: async (context) => (await messages()).send(context),
  },
  {
    words: "connect",
    operations: ["connect_catalog"],
    options: [
      GROUP,
      { name: "instance", value: "INSTANCE", text: "The Groups of this instance, by id or name" },
      {
        name: "target-group",
        value: "GROUP",
        text: "With --instance: show the Actors of this Group, by id or title",
      },
      { name: "after", value: "GROUP", text: "Show the page after this Group" },
      {
        name: "limit",
        value: "N",
        integer: [1, LIMITS.connect.catalog.groups],
        text: "Show at most N Groups",
      },
    ],
    run: async (context) => (await other()).connect(context),
  },
  {
    words: "connect invite",
    operations: ["connect_group_select"],
    summary:
      "Select a Group for a connection with another account. Prints the page of the account service on which you name the member whom you invite.",
    options: [GROUP, { name: "open", text: "Open the page in the browser" }],
    examples: ["svc connect invite --group api"],
    personOnly: true,
    run: async (context) => (await other()).select(context),
  },
  {
    words: "connect accept",
    args: "<invitation>",
    operations: ["connect_group_select"],
    summary:
      "Select a Group for an invitation of another account. Prints the page of the account service on which you see who invites you, and accept.",
    options: [GROUP, { name: "open", text: "Open the page in the browser" }],
    examples: ["svc connect accept 0b9c5c3e-5f3b-8a07-9f6e-2f1d5a0a9b11 --group api"],
    personOnly: true,
    run: async (context) => (await other()).select(context),
  },
  {
    words: "reply",
    args: "<event> <text>",
    operations: ["reply"],
    options: [
      GROUP,
      { name: "mode", short: "m", value: "MODE", choices: ["send", "mail"], text: "send (default) or mail" },
      ATTACH,
      KEY,
      INSIGHT,
      FORMAT,
    ],
    run: async (context) => (await messages()).reply(context),
  },
  {
    words: "deliver",
    args: "<event>",
    operations: ["message_deliver"],
    summary:
      "Deliver a message again, on purpose. If an earlier attempt may have arrived, this needs --force-ambiguous.",
    options: [
      GROUP,
      { ...TO, value: "ACTOR", text: "The Actors to deliver it to" },
      { name: "force-ambiguous", text: "Deliver it even where an earlier attempt may have arrived" },
    ],
    run: async (context) => (await messages()).deliver(context),
  },
  {
    words: "withdraw",
    args: "<event>",
    operations: ["message_withdraw"],
    options: [GROUP],
    run: async (context) => (await messages()).withdraw(context),
  },
  {
    words: "cancel-reply",
    args: "<event>",
    operations: ["reply_request_cancel"],
    options: [GROUP],
    run: async (context) => (await messages()).cancelReply(context),
  },
  {
    words: "inbox",
    operations: ["inbox_peek", "inbox_read"],
    summary: "Show an Actor's unread Mail. Without --read, it stays unread.",
    options: [
      GROUP,
      ACTOR,
      { name: "read", text: "Take the messages and move the cursor" },
      LIMIT,
      {
        name: "wait",
        value: "SECONDS",
        integer: [0, LIMITS.inbox.waitSecondsMax],
        text: "With --read: wait for messages",
      },
      { name: "ack", value: "BATCH", text: "With --read: acknowledge the batch taken before" },
    ],
    run: async (context) => (await inbox()).inbox(context),
  },
  {
    words: "history",
    operations: ["message_history"],
    options: [
      GROUP,
      ACTOR,
      {
        name: "mode",
        short: "m",
        value: "MODE",
        choices: ["all", "sent", "received"],
        text: "all, sent or received",
      },
      { name: "query", value: "TEXT", text: "Only messages that contain it" },
      { name: "before", value: "EVENT", text: "Only events before this one" },
      LIMIT,
    ],
    run: async (context) => (await inbox()).history(context),
  },
  {
    words: "tail",
    operations: ["ledger_tail"],
    summary: "Show the newest events. With -f, follow new ones, even when the daemon restarts.",
    options: [
      GROUP,
      {
        name: "lines",
        short: "n",
        value: "N",
        integer: [0, LIMITS.page.max],
        text: "How many events (default: 10)",
      },
      { name: "follow", short: "f", text: "Follow new events; with --json, one event per line" },
      { name: "all", text: "Show all kinds of events, not only messages, presentations and notices" },
    ],
    run: async (context) => (await ledger()).tail(context),
  },
  {
    words: "search",
    args: "[query]",
    operations: ["ledger_search"],
    options: [
      GROUP,
      LIMIT,
      { name: "before", value: "EVENT", text: "Only events before this one" },
      { name: "actor", value: "NAME", text: "Only messages from or to this Actor" },
      {
        name: "mode",
        value: "MODE",
        choices: ["send", "request-reply", "mail"],
        text: "Only messages of this mode",
      },
      { name: "files", text: "Only messages with files" },
      { name: "open", text: "Only requests that await a reply" },
    ],
    run: async (context) => (await ledger()).search(context),
  },
  {
    words: "show",
    args: "<event>",
    operations: ["ledger_window", "ledger_statuses"],
    summary: "Show one event with its delivery, read and reply states per recipient.",
    options: [GROUP],
    run: async (context) => (await ledger()).show(context),
  },
  {
    words: "file",
    args: "<event>",
    operations: ["file_fetch"],
    options: [
      GROUP,
      { name: "sha256", value: "DIGEST", text: "Which file, if the message has several" },
      { name: "save-to", value: "PATH", text: "Save a copy to this path" },
    ],
    run: async (context) => (await messages()).file(context),
  },
  {
    words: "read",
    args: "<event>",
    operations: ["feed_read"],
    options: [GROUP],
    run: async (context) => (await messages()).read(context, "feed_read"),
  },
  {
    words: "unread",
    args: "<event>",
    operations: ["feed_unread"],
    options: [GROUP],
    run: async (context) => (await messages()).read(context, "feed_unread"),
  },
];
