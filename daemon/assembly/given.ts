/**
 * What the services of a daemon are given from outside: the platform, the open Home, and what the
 * process was started with.
 */
import type { HookClient } from "../../client/hook/hook-client.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Descriptors } from "../../platform/descriptors.ts";
import type { Files } from "../../platform/files.ts";
import type { HttpClient } from "../../platform/http/client.ts";
import type { Log } from "../../platform/log.ts";
import type { Network } from "../../platform/network.ts";
import type { ProcessTable, SocketPeers } from "../../platform/process-table.ts";
import type { Processes } from "../../platform/processes.ts";
import type { ProjectFiles } from "../../platform/project-files.ts";
import type { Random } from "../../platform/random.ts";
import type { Home } from "../home/home.ts";
import type { LedgerLimits } from "../ledger/types.ts";
import type { MessagingLimits } from "../messaging/group-chat.ts";
import type { DirectDependencies } from "../peers/direct/direct.ts";

export interface Given {
  files: Files;
  clock: Clock;
  random: Random;
  projects: ProjectFiles;
  log: Log;
  processes: Processes;
  processTable: ProcessTable;
  socketPeers: SocketPeers;
  network: Network;
  descriptors?: Descriptors;
  /** Requests to the account service and to other instances. */
  http: HttpClient;
  /** Hosts of push services, and requests to them, which reach public addresses only. */
  push: { services: readonly string[]; http: HttpClient };
  /** The way to other instances. */
  links: DirectDependencies["links"];
  home: Home;
  /** This machine's name. */
  hostname: string;
  /** Where the Web listener listens. */
  host: string;
  port: number;
  /** PEM texts: HTTPS with them. */
  tls: { cert: string; key: string } | null;
  /** False where permissions don't say anything (Windows). */
  hasModes: boolean;
  /** Starts `svc`. */
  program: readonly [command: string, ...args: string[]];
  /** Absolute path of Node. */
  node: string;
  environment: Readonly<Record<string, string | undefined>>;
  /** What the login shell makes of it, asked once; null if it doesn't say. It may be absent. */
  loginShell?: () => Promise<Readonly<Record<string, string>> | null>;
  /** The system keeps logins elsewhere than in files. */
  hasKeychain: boolean;
  /** What brings hook events here sooner than Node would, null without any. */
  hookClient(): HookClient | null;
  /** Wall time in milliseconds. */
  machineStartedAt: number;
  /** Begins to stop the daemon, after the answer has gone out. */
  stop(): void;
  /** Checks every result against its schema; for tests. */
  checkOutputs?: boolean;
  /** Smaller ones; for tests. */
  ledgerLimits?: Partial<LedgerLimits>;
  messagingLimits?: Partial<MessagingLimits>;
}
