/** The account service, which runs where its operator wants it. */
import type { Command, Option } from "../command.ts";

/** Which store a command works at. */
const STORE: readonly Option[] = [
  {
    name: "folder",
    value: "DIR",
    text: "Folder of its key and store (default: SVC_ACCOUNT_FOLDER, then ~/.svc-account)",
  },
  {
    name: "database",
    value: "URL",
    text: "PostgreSQL instead of the embedded database (default: SVC_ACCOUNT_DATABASE, which hides a password)",
  },
];
const ORIGIN: Option = {
  name: "origin",
  value: "ORIGIN",
  text: "How members and daemons reach it, such as https://account.example (default: http://localhost:PORT)",
};
const PORT: Option = { name: "port", value: "PORT", integer: [1, 65535], text: "Its port (default: 8850)" };

export const accountServiceCommands: readonly Command[] = [
  {
    words: "account-service",
    summary:
      "Run the account service in this terminal: the directory through which the instances of one person find each other. Ctrl-C stops it.",
    options: [
      ...STORE,
      { name: "host", value: "HOST", text: "Address to listen on (default: 127.0.0.1)" },
      PORT,
      ORIGIN,
      {
        name: "proxies",
        value: "COUNT",
        integer: [0, 8],
        text: "Proxies in front of it whose X-Forwarded-For is believed (default: 0)",
      },
    ],
    handlesInterrupt: true,
    personOnly: true,
    run: async (context) => (await import("../commands/account-service.ts")).run(context),
  },
  {
    words: "account-service invite",
    summary: "Print a one-time link that lets one person join the account service.",
    options: [...STORE, PORT, ORIGIN, { name: "admin", text: "The new member may invite others" }],
    personOnly: true,
    run: async (context) => (await import("../commands/account-service.ts")).invite(context),
  },
  {
    words: "account-service members",
    summary: "List the members of the account service.",
    options: STORE,
    personOnly: true,
    run: async (context) => (await import("../commands/account-service.ts")).listMembers(context),
  },
  {
    words: "account-service disable",
    args: "<member>",
    summary: "End a member's sessions, retire the member's devices, and let the member in no more.",
    options: STORE,
    personOnly: true,
    run: async (context) => (await import("../commands/account-service.ts")).disableMember(context),
  },
  {
    words: "account-service devices",
    summary: "List the devices of all members.",
    options: STORE,
    personOnly: true,
    run: async (context) => (await import("../commands/account-service.ts")).listDevices(context),
  },
  {
    words: "account-service retire",
    args: "<device>",
    summary: "Retire a device. It must be linked again to come back.",
    options: STORE,
    personOnly: true,
    run: async (context) => (await import("../commands/account-service.ts")).retireDevice(context),
  },
  {
    words: "account-service end-connections",
    summary:
      "End all connections and open invitations between members. Do this after restoring a backup, before the service starts: what was ended since is active again in it.",
    options: STORE,
    personOnly: true,
    run: async (context) => (await import("../commands/account-service.ts")).endConnections(context),
  },
  {
    words: "account-service backup",
    args: "<file>",
    summary: "Write a copy of the embedded database. The service may be running.",
    options: STORE,
    personOnly: true,
    run: async (context) => (await import("../commands/account-service.ts")).backup(context),
  },
  {
    words: "account-service move",
    summary:
      "Move the embedded database into an empty PostgreSQL, which --database names. Stop the service before. It can't start on the embedded database afterwards.",
    options: STORE,
    personOnly: true,
    run: async (context) => (await import("../commands/account-service.ts")).move(context),
  },
  {
    words: "account-service doctor",
    summary: "Check the settings and the store of the account service.",
    options: [...STORE, PORT, ORIGIN],
    personOnly: true,
    run: async (context) => (await import("../commands/account-service.ts")).doctor(context),
  },
];
