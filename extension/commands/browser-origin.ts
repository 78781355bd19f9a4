/** Where the person's browser reaches this instance's pages. The window may be elsewhere. */
import * as vscode from "vscode";

/** The daemon answers to these names with its own port alone. */
const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"]);

/**
 * `local` is the origin on the daemon's machine, `named` the one that was set for others. Beside a
 * remote window, the editor may forward the port of `local`; the daemon refuses a forwarded address
 * with another port or a path, as it can't tell it from a trap. Throws what to do when nothing
 * leads there.
 */
export async function browserOrigin(local: string, named: string | null): Promise<string> {
  const isRemote = vscode.env.remoteName !== undefined;
  // A certificate is for the name.
  if (named !== null && (isRemote ? !isHere(named) : local.startsWith("https:"))) return named;
  if (!isRemote) return local;
  const { scheme, authority, path } = await vscode.env.asExternalUri(vscode.Uri.parse(local));
  const seen = `${scheme}://${authority}${path}`;
  if (leadsTo(seen, local)) return new URL(seen).origin;
  // The editor forwards loopback addresses, and no others.
  if (named !== null && !LOOPBACK.has(new URL(named).hostname)) return named;
  throw new Error(
    `From here a browser reaches the daemon only as ${seen}, which the daemon refuses. Use the Workbench in the editor, or set an address with 'svc origin set https://HOST'.`,
  );
}

/** Whether an origin means the machine of whoever asks for it. */
function isHere(origin: string): boolean {
  const { hostname } = new URL(origin);
  return LOOPBACK.has(hostname) || hostname.startsWith("127.") || hostname.endsWith(".localhost");
}

/** Whether the daemon answers to the address as to its own. */
function leadsTo(seen: string, local: string): boolean {
  const [to, from] = [new URL(seen), new URL(local)];
  return (
    to.protocol === from.protocol && to.port === from.port && to.pathname === "/" && LOOPBACK.has(to.hostname)
  );
}
