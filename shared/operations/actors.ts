/** Actors of a Group. */
import * as z from "zod";
import { LIMITS } from "../limits.ts";
import {
  Actor,
  ActorId,
  AddedActorId,
  Environment,
  EnvironmentName,
  GroupId,
  newLabel,
  Runner,
  Runtime,
  ScopeKey,
  text,
} from "../model.ts";
import { operation } from "./contract.ts";

/** What people want to know about an Actor at a glance. The daemon decides it. */
export const ActorPresence = z.strictObject({
  state: z.enum(["working", "waiting", "idle", "stalled", "starting", "stopped", "failed", "unavailable"]),
  /** The reason in words. */
  reason: z.string(),
  since: z.string().nullable(),
  last_activity: z.string().nullable(),
  /** It waits for a person. */
  attention: z.boolean(),
  unread_mail: z.int(),
  /** Direct messages that the Actor hasn't taken yet. */
  pending: z.int(),
  /** Why they wait, in words; absent if they needn't wait. */
  held: z.string().optional(),
  /** Its open questions that `actor_answer` takes; absent for others, and if there are none. */
  questions: z.int().optional(),
});
export const ActorWithPresence = Actor.extend({ presence: ActorPresence });
export type ActorWithPresence = z.infer<typeof ActorWithPresence>;

/** No Actor may look like the person, the daemon or a set of Actors. */
const Title = newLabel(LIMITS.actor.titleBytes).refine(
  (title) => !/^\s*(?:@.*|user\s*|system\s*)$/i.test(title.normalize("NFKC")),
  "is a name that is already used",
);
const Command = z.array(text(LIMITS.actor.commandPartBytes)).max(LIMITS.actor.commandParts);
const NewConversation = { new_conversation: z.boolean().default(false) };
/** The conversation that a started Actor is in: null for one whose process others start. */
const Conversation = z
  .strictObject({
    /** Whether the agent continues its conversation or starts a new one. */
    continued: z.boolean(),
    /** Why an earlier conversation couldn't be continued, in words; otherwise empty. */
    lost: z.string(),
  })
  .nullable();
export type BegunConversation = NonNullable<z.output<typeof Conversation>>;
const GroupAndActor = { group_id: GroupId, actor_id: ActorId };
/**
 * The file with the launch token. If the daemon runs the process, it exists only while that runs.
 */
const WithTokenFile = z.strictObject({ actor: Actor, token_file: z.string() });

const RuntimeDescription = z.strictObject({
  runtime: Runtime,
  title: z.string(),
  /** Its default command; null for `custom`. */
  command: z.string().nullable(),
  installed: z.boolean(),
  path: z.string().nullable(),
  version: z.string().nullable(),
  /** It gets our MCP tools at launch. */
  tools: z.boolean(),
  /** Its hooks report what it does. */
  activity: z.boolean(),
  /** It proves that it took a prompt. */
  proof: z.boolean(),
  /** What it needs before it can work, as far as that is known without running it. */
  missing: z.array(z.enum(["program", "login", "trust"])),
});
export type RuntimeDescription = z.infer<typeof RuntimeDescription>;

export const actorOperations = [
  operation({
    name: "actor_list",
    title: "List Actors",
    summary: "Lists the Group's Actors in order (the first is the foreman), with their state in words.",
    input: z.strictObject({ group_id: GroupId }),
    output: z.strictObject({ actors: z.array(ActorWithPresence) }),
    callers: ["user", "member", "actor", "exhibit"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "actor_show",
    title: "Show an Actor",
    summary: "Shows one Actor with its state in words.",
    input: z.strictObject(GroupAndActor),
    output: z.strictObject({ actor: ActorWithPresence }),
    callers: ["user", "member", "actor"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "actor_add",
    title: "Add an Actor",
    summary:
      "Adds an Actor with a new generation. With the runner external, you start its process, and its launch token is in an owner-only file. With the runner pty, the daemon runs it in a terminal once it is started.",
    input: z.strictObject({
      group_id: GroupId,
      actor_id: AddedActorId,
      title: Title.default(""),
      runtime: Runtime.default("custom"),
      runner: Runner.default("external"),
      command: Command.default([]),
      env: Environment.default({}),
      scope_key: ScopeKey.optional(),
      enabled: z.boolean().default(true),
      allow_tools: z.boolean().default(true),
      /** Only a person may choose that its questions are answered through svc, too. */
      answerable: z.boolean().default(false),
      /** Its command reads prompts, though svc doesn't know it. Only a person may say so. */
      prompts: z.boolean().default(false),
    }),
    output: WithTokenFile,
    callers: ["user", "actor"],
    lock: "group_write",
    effect: "write",
    decision: true,
    idempotent: false,
  }),
  operation({
    name: "actor_update",
    title: "Change an Actor",
    summary:
      "Changes the title, command, environment or scope, whether it is enabled, whether its agent may use svc's own tools without asking, or whether its questions can be answered through svc. The generation stays the same.",
    input: z.strictObject({
      ...GroupAndActor,
      title: Title.optional(),
      runtime: Runtime.optional(),
      command: Command.optional(),
      env: Environment.optional(),
      scope_key: ScopeKey.nullable().optional(),
      enabled: z.boolean().optional(),
      allow_tools: z.boolean().optional(),
      answerable: z.boolean().optional(),
      prompts: z.boolean().optional(),
    }),
    output: z.strictObject({ actor: Actor }),
    callers: ["user"],
    lock: "group_write",
    effect: "write",
    decision: true,
    idempotent: true,
  }),
  operation({
    name: "actor_remove",
    title: "Remove an Actor",
    summary:
      "Removes the Actor with its pending messages, Inbox and token. A later Actor with the same id inherits nothing.",
    input: z.strictObject(GroupAndActor),
    output: z.strictObject({ actor: Actor }),
    callers: ["user", "actor"],
    lock: "group_write",
    effect: "destroy",
    decision: true,
    idempotent: false,
  }),
  operation({
    name: "actor_start",
    title: "Start an Actor",
    summary:
      "Enables the Actor so that it receives messages. If the daemon runs its process, starts it too. The Actor continues its last conversation if it can, unless you ask for a new one.",
    input: z.strictObject({ ...GroupAndActor, ...NewConversation }),
    output: z.strictObject({ actor: Actor, conversation: Conversation }),
    callers: ["user", "actor"],
    lock: "none",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "actor_stop",
    title: "Stop an Actor",
    summary:
      "Disables the Actor and ends its sessions, or its process if the daemon runs it. Its messages wait.",
    input: z.strictObject(GroupAndActor),
    output: z.strictObject({ actor: Actor }),
    callers: ["user", "actor"],
    lock: "none",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "actor_restart",
    title: "Restart an Actor",
    summary:
      "Ends the Actor's sessions and issues a new launch token. The old one no longer works. A process that the daemon runs is started again and continues its conversation, as after a start.",
    input: z.strictObject({ ...GroupAndActor, ...NewConversation }),
    output: WithTokenFile.extend({ conversation: Conversation }),
    callers: ["user", "actor"],
    lock: "none",
    effect: "write",
    decision: false,
    idempotent: false,
  }),
  operation({
    name: "actor_interrupt",
    title: "Interrupt an Actor",
    summary: "Sends the runtime's interrupt key to its terminal, if the daemon runs it.",
    input: z.strictObject(GroupAndActor),
    output: z.strictObject({ actor: Actor }),
    callers: ["user", "actor"],
    lock: "none",
    effect: "write",
    decision: false,
    idempotent: false,
  }),
  operation({
    name: "actor_secrets",
    title: "Set private environment",
    summary:
      "Sets or removes private environment values. They are kept in a separate owner-only file, and nothing ever returns them.",
    input: z.strictObject({
      ...GroupAndActor,
      set: Environment.default({}),
      unset: z.array(EnvironmentName).max(LIMITS.actor.environmentEntries).default([]),
    }),
    output: z.strictObject({ actor: Actor }),
    callers: ["user"],
    lock: "group_write",
    effect: "write",
    decision: true,
    idempotent: true,
  }),
  operation({
    name: "actor_mcp_config",
    title: "Show an Actor's MCP configuration",
    summary:
      "Shows what to put into an agent's MCP configuration. It names the owner-only token file, never the token.",
    input: z.strictObject(GroupAndActor),
    output: z.strictObject({
      mcpServers: z.strictObject({
        svc: z.strictObject({
          command: z.string(),
          args: z.array(z.string()),
          env: z.record(z.string(), z.string()),
        }),
      }),
    }),
    callers: ["user"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
] as const;

export const runtimeOperations = [
  operation({
    name: "runtime_list",
    title: "List runtimes",
    summary:
      "Lists the agents that svc knows, which are installed on this machine, what works with each, and what is missing before it can start: its program, its login, or its trust in the folder of the Group or Actor that you name.",
    input: z.strictObject({ group_id: GroupId.optional(), actor_id: ActorId.optional() }),
    output: z.strictObject({ runtimes: z.array(RuntimeDescription) }),
    callers: ["user", "member"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "tools_listed",
    title: "Report that tools are listed",
    summary:
      "`svc mcp` calls this when the Actor's runtime has listed its tools. A prompt that needs them can now be delivered.",
    input: z.strictObject({}),
    output: z.strictObject({}),
    callers: ["actor"],
    lock: "none",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
] as const;
