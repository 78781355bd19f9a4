/** Direct connections between Groups of two instances. */
import type { Command } from "../command.ts";
import { GROUP, YES } from "./options.ts";

const direct = () => import("../commands/direct.ts");

export const directCommands: readonly Command[] = [
  {
    words: "direct listen",
    operations: ["connect_direct_configure"],
    summary:
      "Set where this instance listens for Direct connections and how others reach it. All Groups share one listener.",
    options: [
      {
        name: "bind",
        value: "IP:PORT",
        text: "Address of this machine to listen on, such as 192.168.1.5:8847",
      },
      { name: "address", value: "HOST:PORT", text: "How the other side reaches it (default: the same)" },
      { name: "name", value: "NAME", text: "The name that the other side sees for this instance" },
      { name: "off", text: "Stop listening" },
    ],
    examples: [
      "svc direct listen --bind 192.168.1.5:8847 --address office.example:8847",
      "svc direct listen --off",
    ],
    personOnly: true,
    run: async (context) => (await direct()).listen(context),
  },
  {
    words: "direct invite",
    operations: ["connect_direct_invite"],
    options: [GROUP],
    personOnly: true,
    run: async (context) => (await direct()).invite(context),
  },
  {
    words: "direct join",
    operations: ["connect_direct_join"],
    summary:
      "Accept an invitation from standard input. The command shows who sent it and asks that instance to connect this Group to its own.",
    options: [GROUP, YES],
    examples: ["svc direct join", "wl-paste | svc direct join"],
    personOnly: true,
    run: async (context) => (await direct()).join(context),
  },
  {
    words: "direct status",
    operations: ["connect_direct_status"],
    options: [GROUP],
    personOnly: true,
    run: async (context) => (await direct()).status(context),
  },
  {
    words: "direct approve",
    args: "<connection>",
    operations: ["connect_direct_approve"],
    options: [GROUP, YES],
    personOnly: true,
    run: async (context) => (await direct()).approve(context),
  },
  {
    words: "direct revoke",
    args: "<connection>",
    operations: ["connect_direct_revoke"],
    options: [GROUP],
    personOnly: true,
    run: async (context) => (await direct()).revoke(context),
  },
  {
    words: "direct remove",
    args: "<connection>",
    operations: ["connect_direct_remove"],
    options: [GROUP],
    personOnly: true,
    run: async (context) => (await direct()).remove(context),
  },
];
