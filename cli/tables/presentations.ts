/** What is shown beside a Group's conversation. */
import { PRESENTATION_KINDS } from "../../shared/presentation-kind.ts";
import type { Command } from "../command.ts";
import { GROUP } from "./options.ts";

const presentations = () => import("../commands/presentations.ts");

export const presentationCommands: readonly Command[] = [
  {
    words: "presentation publish",
    args: "<slot> [file]",
    operations: ["presentation_publish"],
    summary:
      "Show a file of an attached project, standard input (-) or a link in a slot (1-4) beside the conversation. It replaces what the slot showed.",
    options: [
      GROUP,
      { name: "title", value: "TITLE", text: "Its title (default: the file's name)" },
      {
        name: "kind",
        value: "KIND",
        choices: PRESENTATION_KINDS,
        text: `${PRESENTATION_KINDS.join(", ")} (default: what the file's name says)`,
      },
      { name: "url", value: "URL", text: "Show this link instead of a file" },
      {
        name: "idempotency-key",
        value: "KEY",
        text: "Publishing again with the same key and content changes nothing",
      },
    ],
    examples: [
      "svc presentation publish 1 report.html --title 'Test report'",
      "psql --csv -c 'select * from t' | svc presentation publish 2 - --kind csv --title 'All of t'",
    ],
    run: async (context) => (await presentations()).publish(context),
  },
  {
    words: "presentation clear",
    args: "<slot>",
    operations: ["presentation_clear"],
    options: [GROUP],
    run: async (context) => (await presentations()).clear(context),
  },
  {
    words: "presentation list",
    args: "[slot]",
    operations: ["presentation_list"],
    options: [GROUP],
    run: async (context) => (await presentations()).list(context),
  },
  {
    words: "presentation open",
    args: "<slot>",
    operations: ["login_link_create", "presentation_list"],
    summary: "Open the Workbench in the browser at what a slot shows.",
    options: [GROUP, { name: "print", text: "Print the link instead of opening it" }],
    personOnly: true,
    run: async (context) => (await presentations()).open(context),
  },
];
