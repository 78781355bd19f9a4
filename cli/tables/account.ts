/** The link to an account, by which instances find each other. */
import type { Command } from "../command.ts";
import { YES } from "./options.ts";

const account = () => import("../commands/account.ts");

export const accountCommands: readonly Command[] = [
  {
    words: "link",
    operations: ["account_link", "account_link_cancel"],
    options: [
      {
        name: "account",
        value: "ORIGIN",
        text: "The account service, such as https://account.example.org (default: the one of the link, then SVC_ACCOUNT_ORIGIN of the daemon)",
      },
      { name: "open", text: "Open the account's page in the browser" },
      { name: "cancel", text: "Stop waiting for a confirmation" },
      { name: "no-wait", text: "Don't wait for the confirmation" },
    ],
    examples: ["svc link --account https://account.example.org"],
    personOnly: true,
    run: async (context) => (await account()).link(context),
  },
  {
    words: "unlink",
    operations: ["account_unlink"],
    options: [YES, { name: "forget", text: "Forget the link even if the account service can't be told" }],
    personOnly: true,
    run: async (context) => (await account()).unlink(context),
  },
  {
    words: "account",
    operations: ["account_show", "connect_status", "connect_rename", "account_joined_seen"],
    options: [
      { name: "name", value: "NAME", text: "Give this instance another name in the account" },
      { name: "seen", text: "Note that you have seen who joined the account" },
    ],
    examples: ["svc account", "svc account --name 'Build machine'"],
    personOnly: true,
    run: async (context) => (await account()).show(context),
  },
  {
    words: "connections",
    operations: ["connection_list", "account_show", "connect_status"],
    personOnly: true,
    run: async (context) => (await account()).connections(context),
  },
];
