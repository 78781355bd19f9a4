/** The first steps, each of which does what it says. */
import { type CommandName, commandId } from "./commands.ts";
import { CONTEXT, ONLINE } from "./contribution.ts";

interface Step {
  title: string;
  description: string;
  command: CommandName;
  button: string;
  /** When it is done without its command. */
  done?: string;
}

export const STEPS: readonly Step[] = [
  {
    title: "Start the daemon",
    description:
      "It keeps your agents' conversations on this machine, and runs on after you close the editor.",
    command: "startDaemon",
    button: "Start the Daemon",
    done: ONLINE,
  },
  {
    title: "Attach this folder",
    description: "The folder gets a Group: one conversation of agents and people that lasts.",
    command: "attachFolder",
    button: "Attach a Folder",
    done: CONTEXT.hasFolderGroup,
  },
  {
    title: "Add an agent",
    description: "svc finds the agents on this machine and runs the one you choose in a terminal.",
    command: "addActor",
    button: "Add an Actor",
    done: CONTEXT.hasActors,
  },
  {
    title: "Send a message",
    description: "You see whether it was read, and what the agent does now.",
    command: "sendMessage",
    button: "Send a Message",
  },
  {
    title: "Connect your own agent",
    description:
      "Claude Code, Codex, Copilot, Cursor or any other that speaks MCP joins the conversation. You see every change of its configuration before it is written.",
    command: "connectAgent",
    button: "Connect an Agent",
  },
];

/** What a step says, with the button that does it. */
export function stepText({ description, button, command }: Step): string {
  return `${description}\n[${button}](command:${commandId(command)})`;
}
