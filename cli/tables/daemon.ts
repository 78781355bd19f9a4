/** The daemon itself, the browser, and this program. */
import { LIMITS } from "../../shared/limits.ts";
import type { Command, Option } from "../command.ts";
import { UsageError } from "../usage-error.ts";
import { YES } from "./options.ts";

const LISTEN: readonly Option[] = [
  {
    name: "host",
    value: "HOST",
    text: "Address of the web listener (default: SVC_WEB_HOST, then 127.0.0.1)",
  },
  {
    name: "port",
    value: "PORT",
    integer: [0, 65535],
    text: "Its port, 0 for any free one (default: SVC_WEB_PORT, then 8848)",
  },
  { name: "tls-cert", value: "FILE", text: "Serve HTTPS with this PEM certificate" },
  { name: "tls-key", value: "FILE", text: "The certificate's PEM key" },
];

export const daemonCommands: readonly Command[] = [
  {
    words: "up",
    summary: "Run the daemon in this terminal and print a one-time link to the Workbench. Ctrl-C stops it.",
    options: LISTEN,
    handlesInterrupt: true,
    personOnly: true,
    run: async (context) => (await import("../commands/daemon.ts")).up(context),
  },
  {
    words: "open",
    args: "[group]",
    operations: ["login_link_create"],
    summary: "Open the Workbench in a browser with a one-time link, at a Group or at something in it.",
    options: [
      { name: "message", value: "EVENT", text: "Show this message" },
      { name: "terminal", value: "ACTOR", text: "Show this Actor's terminal" },
      { name: "search", value: "TEXT", text: "Show what a search finds" },
      { name: "print", text: "Print the link instead of opening it" },
    ],
    run: async (context) => (await import("../commands/open.ts")).open(context),
  },
  {
    words: "demo",
    summary:
      "Watch two scripted agents talk in a Group. The demo has its own Home, and begins when its Workbench is open or you press Enter, and after a minute in any case. Ctrl-C ends it and removes the Home.",
    options: [
      { name: "direct", text: "Show two instances that connect and write to each other instead" },
      { name: "account", text: "Show two instances of one account, and its service, instead" },
      { name: "external", text: "Show two accounts that connect one Group each instead" },
      { name: "exit", text: "Play at once, and exit when the script is done" },
    ],
    handlesInterrupt: true,
    personOnly: true,
    run: async (context) => {
      const { demo } = await import("../../demo/main.ts");
      const kinds = (["direct", "account", "external"] as const).filter((name) => context.has(name));
      if (kinds.length > 1) throw new UsageError("Choose one of --direct, --account and --external.", "demo");
      const [kind = "agents"] = kinds;
      return demo({ exit: context.has("exit"), kind }, context.out);
    },
  },
  {
    words: "doctor",
    operations: ["health"],
    summary: "Check this machine, the Home and the daemon. Each problem comes with a remedy.",
    run: async (context) => (await import("../commands/doctor.ts")).doctor(context),
  },
  {
    words: "home forget",
    args: "<file>",
    summary:
      "Go on without a needed file of the Home that is gone or damaged. What is in its place is renamed. The daemon must not run.",
    options: [{ name: "confirm", value: "FILE", text: "The file's name again" }],
    personOnly: true,
    run: async (context) => (await import("../commands/home.ts")).forget(context),
  },
  {
    words: "daemon start",
    summary: "Start the daemon in the background.",
    options: LISTEN,
    personOnly: true,
    run: async (context) => (await import("../commands/daemon.ts")).start(context),
  },
  {
    words: "daemon stop",
    operations: ["daemon_stop"],
    summary: "Say which agents are working, let running requests finish, then stop the daemon.",
    options: [YES],
    run: async (context) => (await import("../commands/daemon.ts")).stop(context),
  },
  {
    words: "daemon status",
    operations: ["daemon_status"],
    run: async (context) => (await import("../commands/daemon.ts")).status(context),
  },
  {
    words: "daemon logs",
    summary:
      "Show the end of the daemon's log. With -f, follow new entries. The daemon doesn't have to be running.",
    options: [
      {
        name: "lines",
        short: "n",
        value: "N",
        integer: [0, LIMITS.log.linesShown],
        text: "How many lines (default: 50)",
      },
      { name: "follow", short: "f", text: "Follow" },
    ],
    personOnly: true,
    run: async (context) => (await import("../commands/daemon-log.ts")).logs(context),
  },
  {
    words: "daemon run",
    summary: "Run the daemon in the foreground, for service managers.",
    options: LISTEN,
    handlesInterrupt: true,
    personOnly: true,
    run: async (context) => (await import("../commands/daemon.ts")).run(context),
  },
  {
    words: "daemon install-service",
    summary:
      "Print a systemd user unit, or a launchd agent on macOS, that keeps the daemon running. With --yes, write it.",
    options: [{ name: "yes", text: "Write the file" }],
    personOnly: true,
    run: async (context) => (await import("../commands/service.ts")).installService(context),
  },
];

/** For agents and shells rather than for people. */
export const programCommands: readonly Command[] = [
  {
    words: "mcp",
    summary:
      "Run the MCP server on standard input and output, for an agent's MCP configuration ('svc actor mcp-config'). With --as, it acts as that Actor of this folder's Group, and finds the Actor's token file in the Home. An agent that svc itself started stays the Actor that it is.",
    options: [
      { name: "as", value: "ACTOR", text: "Act as the Actor with this id" },
      { name: "folder", value: "DIR", text: "With --as: the Group of this folder (default: this directory)" },
      { name: "group", short: "g", value: "GROUP", text: "With --as: this Group, by id or title" },
    ],
    run: async (context) => (await import("../commands/mcp.ts")).mcp(context),
  },
  {
    words: "hook",
    operations: ["hook_submit"],
    summary:
      "Submit a runtime's event. An agent's runtime runs this command whenever something happens in it. The command submits the JSON on standard input as the Actor whose token file the environment names. It prints nothing and always succeeds.",
    run: async () => (await import("../commands/hook.ts")).hook(),
  },
  {
    words: "completion",
    args: "<shell>",
    summary: "Print a completion script for bash, zsh or fish.",
    examples: ["svc completion bash > ~/.local/share/bash-completion/completions/svc"],
    run: async (context, commands) => (await import("../completion.ts")).completion(context, commands),
  },
  {
    words: "version",
    summary: "Print the product version.",
    run: async (context) => (await import("../commands/version.ts")).version(context),
  },
];
