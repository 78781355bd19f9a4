/** The Actors of a Group. */
import { AGENT_CLIENTS } from "../../shared/agent-clients.ts";
import type { Command, Option } from "../command.ts";
import { GROUP, TITLE, YES } from "./options.ts";

const actors = () => import("../commands/actors.ts");

const RUNTIME: Option = {
  name: "runtime",
  value: "RUNTIME",
  choices: ["external", "claude", "codex", "gemini", "opencode", "copilot", "cursor", "custom"],
  text: "The agent that svc runs in a terminal ('svc runtime list'), or external (default) for a process that you start",
};
const FOR: Option = {
  name: "for",
  value: "AGENT",
  choices: AGENT_CLIENTS.map(({ id }) => id),
  text: `The kind of agent: ${AGENT_CLIENTS.map(({ id }) => id).join(", ")}`,
};
const ENV: Option = {
  name: "env",
  value: "NAME=VALUE",
  many: true,
  text: "Public environment of its process (secrets: 'svc actor secrets')",
};
const PROMPTS: Option = {
  name: "prompts",
  text: "Its command reads prompts: type messages into it even though svc doesn't know the program",
};
const SCOPE: Option = { name: "scope", value: "SCOPE", text: "Scope key of the project it works in" };

const OWN_TOOLS: Option = {
  name: "own-tools",
  value: "HOW",
  choices: ["allow", "ask"],
  text: "allow (default): its agent uses svc's own tools without asking you each time; ask: it asks first",
};
const QUESTIONS: Option = {
  name: "questions",
  value: "WHERE",
  choices: ["terminal", "svc"],
  text: "terminal (default): what its agent asks you is answered only in its terminal; svc: in the Workbench and with 'svc actor answer', too, from its next start on",
};
const NEW_CONVERSATION: Option = {
  name: "new-conversation",
  text: "Start a new conversation instead of continuing the last one",
};

export const actorCommands: readonly Command[] = [
  {
    words: "actor add",
    args: "<id>",
    rest: "COMMAND...",
    operations: ["actor_add"],
    summary:
      "Add an Actor. With --runtime, svc runs the agent in a terminal once it is started. Without it, you start the process yourself, and this command prints the path of its owner-only launch token.",
    options: [
      GROUP,
      RUNTIME,
      TITLE,
      ENV,
      SCOPE,
      OWN_TOOLS,
      QUESTIONS,
      PROMPTS,
      { name: "disabled", text: "Deliver nothing to it until it is started" },
    ],
    examples: [
      "svc actor add coder --runtime claude && svc actor start coder",
      "svc actor add helper --runtime custom --prompts -- my-agent --chat",
      "svc actor add reviewer --title 'Code review' && svc actor mcp-config reviewer",
    ],
    run: async (context) => (await actors()).add(context),
  },
  {
    words: "actor list",
    operations: ["actor_list"],
    options: [GROUP],
    run: async (context) => (await actors()).list(context),
  },
  {
    words: "actor show",
    args: "<actor>",
    operations: ["actor_show"],
    options: [GROUP],
    run: async (context) => (await actors()).show(context),
  },
  {
    words: "actor update",
    args: "<actor>",
    rest: "COMMAND...",
    operations: ["actor_update"],
    options: [
      GROUP,
      {
        ...RUNTIME,
        choices: RUNTIME.choices?.filter((name) => name !== "external") ?? [],
        text: "Which agent it is",
      },
      TITLE,
      { ...ENV, text: "Replace its public environment" },
      { ...SCOPE, text: "Scope key of the project it works in; none removes it" },
      OWN_TOOLS,
      QUESTIONS,
      PROMPTS,
      { name: "no-prompts", text: "Type nothing into its command; messages wait in the Inbox" },
    ],
    run: async (context) => (await actors()).update(context),
  },
  {
    words: "actor start",
    args: "<actor>",
    operations: ["actor_start"],
    options: [GROUP, NEW_CONVERSATION],
    run: async (context) => (await actors()).start(context),
  },
  {
    words: "actor stop",
    args: "<actor>",
    operations: ["actor_stop"],
    options: [GROUP],
    run: async (context) => (await actors()).stop(context),
  },
  {
    words: "actor restart",
    args: "<actor>",
    operations: ["actor_restart"],
    options: [GROUP, NEW_CONVERSATION],
    run: async (context) => (await actors()).restart(context),
  },
  {
    words: "actor interrupt",
    args: "<actor>",
    operations: ["actor_interrupt"],
    options: [GROUP],
    run: async (context) => (await actors()).interrupt(context),
  },
  {
    words: "actor answer",
    args: "<actor>",
    operations: ["actor_answer", "actor_questions"],
    summary:
      "Show what an Actor's agent asks you, with the exact command or change, and answer it once. The Actor must have been set up with --questions svc. The first answer wins, also one in the Actor's terminal.",
    options: [
      GROUP,
      { name: "question", value: "ID", text: "The question that you answer, by the beginning of its id" },
      { name: "allow", text: "Allow it once" },
      { name: "deny", text: "Refuse it" },
      { name: "terminal", text: "Leave it to the Actor's terminal" },
      {
        name: "choose",
        value: "ANSWER",
        many: true,
        text: "Answer the agent's own questions in their order: the numbers of options (1,3) or your words",
      },
      { name: "message", value: "TEXT", text: "With --deny: what the agent is told" },
    ],
    examples: [
      "svc actor answer coder",
      "svc actor answer coder --question 3f2a91c0 --allow",
      "svc actor answer coder --question 3f2a91c0 --deny --message 'Use make clean.'",
    ],
    personOnly: true,
    run: async (context) => (await import("../commands/answer.ts")).answer(context),
  },
  {
    words: "actor attach",
    args: "<actor>",
    summary:
      "Show an Actor's terminal in this one, with its scrollback. The daemon must run the Actor. You only view it until Ctrl-T takes it over. Ctrl-] detaches, and the Actor keeps running.",
    options: [GROUP, { name: "take", text: "Take it over at once, even if someone else is writing" }],
    examples: ["svc actor attach coder"],
    personOnly: true,
    handlesInterrupt: true,
    run: async (context) => (await import("../commands/attach.ts")).attach(context),
  },
  {
    words: "runtime list",
    operations: ["runtime_list"],
    options: [{ ...GROUP, text: "Also say which of them don't trust the folder of this Group yet" }],
    run: async (context) => (await actors()).runtimes(context),
  },
  {
    words: "actor remove",
    args: "<actor>",
    operations: ["actor_remove"],
    options: [GROUP, YES],
    run: async (context) => (await actors()).remove(context),
  },
  {
    words: "actor secrets",
    args: "<actor>",
    operations: ["actor_secrets"],
    summary:
      "Set or remove private environment values. Values come from standard input or from this command's own environment, never from its arguments.",
    options: [
      GROUP,
      { name: "from-env", value: "NAME", many: true, text: "Take the value of this environment variable" },
      { name: "stdin", text: "Read NAME=VALUE lines from standard input" },
      { name: "unset", value: "NAME", many: true, text: "Remove a value" },
    ],
    examples: ["svc actor secrets coder --stdin < secrets.env", "svc actor secrets coder --from-env API_KEY"],
    run: async (context) => (await actors()).secrets(context),
  },
  {
    words: "actor mcp-config",
    args: "<actor>",
    operations: ["actor_mcp_config"],
    summary:
      "Show what to put into an agent's MCP configuration. It names the owner-only token file, never the token. With --for, show the steps for one kind of agent. They name only svc and the Actor.",
    options: [GROUP, FOR],
    examples: ["svc actor add claude && svc actor mcp-config claude --for claude"],
    run: async (context) => (await actors()).mcpConfig(context),
  },
];
