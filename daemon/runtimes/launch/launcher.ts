/**
 * Starts one Actor's process: where, and with which command, arguments and environment
 * (docs/core-model.md#actor, docs/core-model.md#scope).
 */
import { basename } from "node:path";
import type { HookClient } from "../../../client/hook/hook-client.ts";
import {
  decideCommand,
  type HookCommandOptions,
  prepareHookCommand,
} from "../../../client/hook/hook-command.ts";
import { loginEnvironment, ownEnvironment } from "../../../client/person-environment.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Files } from "../../../platform/files.ts";
import type { Processes, TerminalProcess } from "../../../platform/processes.ts";
import { missingFile } from "../../../platform/program-files.ts";
import type { ProjectFiles } from "../../../platform/project-files.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { StoredActor } from "../../../shared/model.ts";
import { ENVIRONMENT } from "../../../shared/names.ts";
import { quoted } from "../../../shared/voice.ts";
import type { OpenGroup } from "../../groups/group.ts";
import { entryOf, type RuntimeEntry } from "../catalogue.ts";
import type { AnswerWith } from "../input/envelope.ts";
import type { Surroundings } from "../missing.ts";
import { ProgramVersions } from "../program-version.ts";
import { type Choice, resumeArguments } from "./conversation.ts";
import { composeEnvironment } from "./environment.ts";
import { handOver, type Words } from "./handover.ts";
import type { BegunLaunch } from "./launch-identity.ts";

export interface LauncherDependencies {
  clock: Clock;
  files: Files;
  projects: ProjectFiles;
  processes: Processes;
  /** Root of the Home. */
  home: string;
  /** The daemon's local socket, for Actors without one of their own. */
  socket: string;
  /** Sockets of Actors' own; absent where they have none. */
  doors?: {
    open(actor: { group_id: string; actor_id: string; generation: string }): Promise<string | null>;
    close(actor: { group_id: string; actor_id: string }): Promise<void>;
  };
  /** Starts `svc`. */
  program: Words;
  /** The MCP tools that stay within svc: an agent may use them without asking. */
  ownTools: readonly string[];
  /** Absolute path of Node. */
  node: string;
  /** The daemon's own environment. */
  environment: Readonly<Record<string, string | undefined>>;
  /** What the person's login shell makes of it; null if it doesn't say. */
  loginShell?: () => Promise<Readonly<Record<string, string>> | null>;
  /** The system keeps logins elsewhere than in files. */
  hasKeychain: boolean;
  /** What sends hook events here faster than Node; null if there is none. */
  hookClient(): HookClient | null;
}

/** What a start needs, resolved before anything is written. */
export interface LaunchPlan {
  entry: RuntimeEntry;
  file: string;
  args: readonly string[];
  directory: string;
  /** The command is the runtime's own program: it understands our arguments. */
  isOwn: boolean;
  answerWith: AnswerWith;
}

export class Launcher {
  readonly #deps: LauncherDependencies;
  readonly #versions: ProgramVersions;
  #base: Readonly<Record<string, string>>;

  constructor(deps: LauncherDependencies) {
    this.#deps = deps;
    this.#base = ownEnvironment(deps.environment);
    this.#versions = new ProgramVersions(deps);
  }

  /** The environment that any agent gets, before its Actor's own. */
  get base(): Readonly<Record<string, string>> {
    return this.#base;
  }

  /** Once the login shell has said what it has, or didn't. It is asked when first needed. */
  async ready(): Promise<void> {
    const shell = (await this.#deps.loginShell?.()) ?? null;
    if (shell !== null) this.#base = loginEnvironment(this.#deps.environment, shell);
  }

  /**
   * Throws scope_not_attached, invalid_project_root, invalid_args, runtime_not_installed, and
   * program_gone where the agent couldn't be given svc.
   */
  plan(group: OpenGroup, actor: StoredActor): LaunchPlan {
    const gone = missingFile(this.#deps.files, this.#deps.program);
    if (gone !== null)
      throw new Refusal("program_gone", {
        specifics: `The daemon's program isn't there any more: ${gone}.`,
        details: { path: gone },
      });
    const entry = entryOf(actor.runtime);
    const directory = this.#directory(group, actor);
    const [program, ...args] = actor.command.length > 0 ? actor.command : entry.programs.slice(0, 1);
    if (program === undefined || program === "") {
      throw new Refusal("invalid_args", {
        specifics: "A custom Actor needs a command.",
        details: { field: "command" },
      });
    }
    const path = this.#environment(group, actor)["PATH"] ?? "";
    const file = this.#deps.processes.locate(program, path, directory);
    if (file === null) {
      throw new Refusal("runtime_not_installed", {
        specifics: `The program ${JSON.stringify(program)} isn't on this machine.`,
        remedy: `Install it, or give the Actor another command with 'svc actor update ${actor.id} -- COMMAND'.`,
        details: { program },
      });
    }
    const isOwn = entry.programs.includes(basename(program));
    return {
      entry,
      file,
      args,
      directory,
      isOwn,
      answerWith: isOwn && entry.mcp !== "none" ? "mcp" : "command",
    };
  }

  /**
   * Starts the process that `plan` describes with the identity that was begun for it. Throws
   * storage_full, storage_failed or Node's errors.
   */
  async spawn(
    group: OpenGroup,
    actor: StoredActor,
    plan: LaunchPlan,
    { launch, token, tokenFile }: BegunLaunch,
    { resume }: Choice,
    size: { columns: number; rows: number },
  ): Promise<TerminalProcess> {
    const { home, program, doors } = this.#deps;
    const { group_id: groupId, generation } = launch;
    const own = await doors?.open({ group_id: groupId, actor_id: actor.id, generation });
    const socket = own ?? this.#deps.socket;
    // Codex gives its servers a few variables of its own choice only: ours are named in the
    // configuration.
    const mcpEnvironment = {
      [ENVIRONMENT.home]: home,
      [ENVIRONMENT.group]: group.group_id,
      [ENVIRONMENT.actor]: actor.id,
      [ENVIRONMENT.actorFile]: tokenFile,
      [ENVIRONMENT.socket]: socket,
      [ENVIRONMENT.launchMark]: launch.mark,
    };
    const options = this.#hookOptions(group, actor, token, socket);
    const hook = launch.has_hooks ? await prepareHookCommand(options) : null;
    const handover = plan.isOwn
      ? handOver(plan.entry, {
          mcp: [...program, "mcp"],
          mcpEnvironment,
          hook,
          decide: actor.answerable ? decideCommand(options) : null,
          allowedTools: actor.allow_tools ? this.#deps.ownTools : [],
          version:
            plan.entry.hooks === "claude_settings"
              ? await this.#versions.of(plan.file, plan.entry, this.#environment(group, actor))
              : null,
        })
      : { args: [], environment: {} };
    return this.#deps.processes.openTerminal({
      file: plan.file,
      args: [
        ...plan.args,
        ...(resume === null ? [] : resumeArguments(plan.entry, resume.session_id)),
        ...handover.args,
      ],
      directory: plan.directory,
      environment: composeEnvironment({
        base: this.#base,
        actor: actor.env,
        private: group.environments.values(actor),
        handover: { ...plan.entry.environment, ...handover.environment },
        home,
        group_id: group.group_id,
        actor_id: actor.id,
        tokenFile,
        socket,
        mark: launch.mark,
      }),
      columns: size.columns,
      rows: size.rows,
    });
  }

  #hookOptions(group: OpenGroup, actor: StoredActor, token: string, socket: string): HookCommandOptions {
    const { files, node, program } = this.#deps;
    return {
      files,
      paths: group.paths,
      actor_id: actor.id,
      socket,
      token,
      client: this.#deps.hookClient(),
      node,
      svc: program.at(-1)!,
      front: program.slice(0, -2),
    };
  }

  /** What an Actor, or a new one of the Group, would find; without one, what any agent would. */
  surroundings(group: OpenGroup | null, actor: StoredActor | null): Surroundings {
    const { files, projects, hasKeychain } = this.#deps;
    return {
      files,
      projects,
      environment: group === null || actor === null ? this.#base : this.#environment(group, actor),
      directory: group === null ? null : (scopeOf(group, actor)?.path ?? null),
      hasKeychain,
    };
  }

  #environment(group: OpenGroup, actor: StoredActor): Readonly<Record<string, string | undefined>> {
    return { ...this.#base, ...actor.env, ...group.environments.values(actor) };
  }

  /** The Actor's scope, else the Group's; never the daemon's own directory. */
  #directory(group: OpenGroup, actor: StoredActor): string {
    const scope = scopeOf(group, actor);
    if (scope === undefined) {
      const key = actor.scope_key ?? group.record.active_scope_key;
      throw new Refusal("scope_not_attached", { details: { scope_key: key } });
    }
    const { projects } = this.#deps;
    // If a link has replaced the directory since it was attached, it is no longer that scope.
    if (projects.canonical(scope.path) !== scope.path || !projects.isDirectory(scope.path)) {
      throw new Refusal("invalid_project_root", {
        specifics: `The project folder in which ${actor.id} works isn't there: ${quoted(scope.path)}.`,
        remedy: `Put it back, or say where it is now with 'svc attach PATH --group ${group.group_id}'.`,
        details: { path: scope.path },
      });
    }
    return scope.path;
  }
}

/** Where an Actor works: its own scope, else the Group's. */
function scopeOf({ record }: OpenGroup, actor: Pick<StoredActor, "scope_key"> | null) {
  const key = actor?.scope_key ?? record.active_scope_key;
  return record.scopes.find(({ scope_key: scopeKey }) => scopeKey === key);
}
