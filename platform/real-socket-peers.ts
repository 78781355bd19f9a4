/**
 * Asks the system which process connected a socket. Node offers no way to it, so a small program
 * that gets the socket as a descriptor asks: Perl, else Python, from the system's own folders,
 * where no agent can put one of its own. It takes some milliseconds, once for a connection.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import type { SocketPeers } from "./process-table.ts";

/** Running at once; others wait. */
const AT_ONCE = 4;
const WAIT_MS = 20_000;
const OUTPUT_BYTES = 64;
/**
 * Not one of the three standard descriptors: Node would make the socket blocking for both sides.
 */
const DESCRIPTOR = 3;
const FOLDERS = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin", "/opt/homebrew/bin"];

/**
 * Linux: SO_PEERCRED (unix(7)) names the process that connected, even when it is gone. SO_PEERPIDFD
 * (Linux 6.5) refers to that very process: it says so when it is gone. Where it is unknown
 * (ENOPROTOOPT), the number must do.
 */
const PERL_LINUX = [
  `open S,"+<&=${DESCRIPTOR}" or exit;($p)=unpack"i",getsockopt(S,1,17);`,
  `$f=getsockopt S,1,77;if(defined $f){open F,"<","/proc/self/fdinfo/".unpack"i",$f;`,
  `$p=0 unless grep/^Pid:\\s+$p$/,<F>}elsif($!+0!=92){$p=0}print$p`,
].join("");
const PYTHON_LINUX = [
  "import socket,struct",
  `s=socket.socket(fileno=${DESCRIPTOR});p=struct.unpack('i',s.getsockopt(1,17,12)[:4])[0]`,
  "try:",
  " f=struct.unpack('i',s.getsockopt(1,77,4))[0]",
  " p=p if ('Pid:\\t%d\\n'%p) in open('/proc/self/fdinfo/%d'%f).read() else 0",
  "except OSError as e:",
  " p=p if e.errno==92 else 0",
  "print(p,end='')",
].join("\n");
/** LOCAL_PEERPID of unix(4). */
const PERL_DARWIN = `open S,"+<&=${DESCRIPTOR}" or exit;print unpack"i",getsockopt(S,0,2)`;

type Question = readonly [program: string, ...args: string[]];

export class RealSocketPeers implements SocketPeers {
  readonly #question: Question | null;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(platform: NodeJS.Platform, folders: readonly string[] = FOLDERS) {
    this.#question = questionFor(platform, folders);
  }

  get canTell(): boolean {
    return this.#question !== null;
  }

  async pidOf(socket: Socket): Promise<number | null> {
    const question = this.#question;
    if (question === null) return null;
    if (this.#running >= AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (socket.destroyed) {
      this.#waiting.shift()?.();
      return null;
    }
    this.#running += 1;
    try {
      const pid = Number(await answerOf(question, socket));
      return Number.isSafeInteger(pid) && pid > 0 ? pid : null;
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }
}

function questionFor(platform: NodeJS.Platform, folders: readonly string[]): Question | null {
  const find = (name: string): string | undefined =>
    folders.map((folder) => `${folder}/${name}`).find((path) => existsSync(path));
  const [perl, python] = [find("perl"), find("python3")];
  if (platform === "darwin") return perl === undefined ? null : [perl, "-f", "-e", PERL_DARWIN];
  if (platform !== "linux") return null;
  if (perl !== undefined) return [perl, "-f", "-e", PERL_LINUX];
  return python === undefined ? null : [python, "-I", "-S", "-c", PYTHON_LINUX];
}

/** Rejects if the program fails. */
function answerOf([program, ...args]: Question, socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    try {
      const asked = spawn(program, args, {
        stdio: ["ignore", "pipe", "ignore", socket],
        env: { LC_ALL: "C" },
        timeout: WAIT_MS,
        killSignal: "SIGKILL",
      });
      asked.stdout?.setEncoding("latin1").on("data", (part: string) => {
        text = (text + part).slice(0, OUTPUT_BYTES);
      });
      asked.on("error", reject).on("close", (code) => {
        if (code === 0) resolve(text);
        else reject(new Error(`${program} ended with ${code}`));
      });
    } catch (error) {
      // The socket has just closed.
      reject(error);
    }
  });
}
