/**
 * The daemon as a service of the person's login: a systemd user unit, or a launchd agent on macOS.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { ownPath } from "../../client/person-environment.ts";
import { ENVIRONMENT } from "../../shared/names.ts";
import type { CommandContext } from "../context.ts";
import { programFile } from "../program.ts";

interface ServiceFile {
  path: string;
  content: string;
  /** What to type once the file is written. */
  next: string;
}

/**
 * What the daemon needs of this shell: its Home, and where its agents' programs are. A service
 * manager has a PATH of its own, without the folders of a person's installers.
 */
function environment(home: string): [name: string, value: string][] {
  const path = ownPath(process.env);
  return [[ENVIRONMENT.home, home], ...(path ? [["PATH", path] as [string, string]] : [])];
}

/** One word of a systemd command line or assignment. */
function unitWord(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%").replaceAll("$", "$$$$")}"`;
}

function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function systemdUnit(home: string, command: readonly string[]): ServiceFile {
  const folder = process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config");
  const assigned = environment(home).map(
    ([name, value]) => `Environment=${unitWord(`${name}=${value}`).replaceAll("$$", "$")}`,
  );
  const content = `[Unit]
Description=svc daemon
StartLimitIntervalSec=60
StartLimitBurst=5

[Service]
Type=simple
${assigned.join("\n")}
ExecStart=${command.map(unitWord).join(" ")}
Restart=on-failure
RestartSec=2
KillSignal=SIGTERM
TimeoutStopSec=30
UMask=0077

[Install]
WantedBy=default.target
`;
  return {
    path: join(folder, "systemd", "user", "svc.service"),
    content,
    next: "systemctl --user daemon-reload && systemctl --user enable --now svc",
  };
}

function launchdAgent(home: string, command: readonly string[]): ServiceFile {
  const label = "svc.daemon";
  const path = join(homedir(), "Library", "LaunchAgents", `${label}.plist`);
  const assigned = environment(home).map(
    ([name, value]) => `    <key>${name}</key><string>${xml(value)}</string>`,
  );
  const content = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>${label}</string>
  <key>ProgramArguments</key>
  <array>
${command.map((word) => `    <string>${xml(word)}</string>`).join("\n")}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${assigned.join("\n")}
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>Umask</key><integer>63</integer>
</dict>
</plist>
`;
  return { path, content, next: `launchctl bootstrap gui/$(id -u) '${path}'` };
}

export async function installService(context: CommandContext): Promise<number> {
  const { out, home } = context;
  if (process.platform === "win32")
    throw context.usage("Windows has no service for svc. Start the daemon with 'svc daemon start'.");
  const command = [process.execPath, programFile(), "daemon", "run"];
  const file = process.platform === "darwin" ? launchdAgent(home, command) : systemdUnit(home, command);
  const write = context.has("yes");
  if (!out.json) {
    out.line(out.style("dim", `# ${file.path}`));
    out.line(file.content.trimEnd());
  }
  if (write) {
    mkdirSync(dirname(file.path), { recursive: true });
    writeFileSync(file.path, file.content);
  }
  if (out.json) out.document({ ok: true, result: { ...file, written: write } });
  else
    out.note(
      write ? `Written. Enable it with: ${file.next}` : "Nothing has been written. To write it, add --yes.",
    );
  return 0;
}
