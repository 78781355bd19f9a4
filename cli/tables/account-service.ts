/** The account service, which runs where its operator wants it. */
import type { Command } from "../command.ts";

export const accountServiceCommands: readonly Command[] = [
  {
    words: "account-service",
    summary:
      "Run the account service in this terminal: the directory through which the instances of one person find each other. Ctrl-C stops it.",
    options: [
      {
        name: "folder",
        value: "DIR",
        text: "Folder of its key and store (default: SVC_ACCOUNT_FOLDER, then ~/.svc-account)",
      },
      { name: "host", value: "HOST", text: "Address to listen on (default: 127.0.0.1)" },
      { name: "port", value: "PORT", integer: [1, 65535], text: "Its port (default: 8850)" },
      {
        name: "origin",
        value: "ORIGIN",
        text: "How members and daemons reach it, such as https://account.example (default: http://localhost:PORT)",
      },
      {
        name: "database",
        value: "URL",
        text: "PostgreSQL instead of the embedded database (default: SVC_ACCOUNT_DATABASE, which hides a password)",
      },
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
];
