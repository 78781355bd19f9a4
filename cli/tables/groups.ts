/** Groups, their projects and their ledgers. */
import type { Command } from "../command.ts";
import { CONFIRM, GROUP, TITLE } from "./options.ts";

const groups = () => import("../commands/groups.ts");
const ledger = () => import("../commands/ledger.ts");

export const groupCommands: readonly Command[] = [
  {
    words: "attach",
    args: "[path]",
    operations: ["attach"],
    options: [{ name: "group", short: "g", value: "GROUP", text: "Bind the directory to this Group" }],
    run: async (context) => (await groups()).attach(context),
  },
  {
    words: "group create",
    args: "<title>",
    operations: ["group_create"],
    options: [{ name: "topic", value: "TEXT", text: "What the Group is about" }],
    run: async (context) => (await groups()).create(context),
  },
  { words: "group list", operations: ["group_list"], run: async (context) => (await groups()).list(context) },
  {
    words: "group show",
    args: "[group]",
    operations: ["group_show"],
    options: [GROUP],
    run: async (context) => (await groups()).show(context),
  },
  {
    words: "group set-state",
    args: "<state>",
    operations: ["group_set_state"],
    options: [GROUP],
    run: async (context) => (await groups()).setState(context),
  },
  {
    words: "group start",
    args: "[group]",
    operations: ["group_start"],
    options: [GROUP],
    run: async (context) => (await groups()).start(context),
  },
  {
    words: "group stop",
    args: "[group]",
    operations: ["group_stop"],
    options: [GROUP],
    run: async (context) => (await groups()).stop(context),
  },
  {
    words: "group settings",
    operations: ["group_update"],
    summary: "Show the Group's settings, or change them, its title or its topic.",
    options: [
      GROUP,
      { name: "set", value: "NAME=VALUE", many: true, text: "Change a setting" },
      TITLE,
      { name: "topic", value: "TEXT", text: "What the Group is about" },
      { name: "active-scope", value: "SCOPE", text: "The scope of the project that Actors work in" },
    ],
    examples: ["svc group settings --set default_send_to=broadcast --set mail_notice_after_seconds=0"],
    run: async (context) => (await groups()).settings(context),
  },
  {
    words: "group delete",
    operations: ["group_delete"],
    options: [GROUP, CONFIRM],
    run: async (context) => (await groups()).remove(context),
  },
  {
    words: "group reset",
    operations: ["group_reset"],
    options: [GROUP, CONFIRM],
    run: async (context) => (await groups()).reset(context),
  },
  {
    words: "group export",
    args: "<file>",
    operations: ["group_export"],
    options: [GROUP],
    run: async (context) => (await groups()).exportGroup(context),
  },
  {
    words: "group import",
    args: "<file>",
    operations: ["group_import"],
    options: [TITLE],
    run: async (context) => (await groups()).importGroup(context),
  },
  {
    words: "ledger compact",
    operations: ["ledger_compact"],
    options: [GROUP],
    run: async (context) => (await ledger()).compact(context),
  },
  {
    words: "ledger verify",
    operations: ["ledger_verify"],
    options: [GROUP],
    run: async (context) => (await ledger()).verify(context),
  },
  {
    words: "ledger reopen",
    operations: ["ledger_reopen"],
    options: [GROUP],
    run: async (context) => (await ledger()).reopen(context),
  },
  {
    words: "ledger continue",
    operations: ["ledger_continue"],
    options: [GROUP, CONFIRM],
    run: async (context) => (await ledger()).continueDamaged(context),
  },
];
