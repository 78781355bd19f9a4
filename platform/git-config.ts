/**
 * The values that we need from a Git configuration, read by the rules of git-config(1),
 * "Syntax". `git` isn't run: it may be missing, and it would obey more of a foreign repository's
 * configuration than this.
 */

/** The value in one variable's text, with quotes, escapes and comments resolved. */
function unquote(raw: string): string {
  let value = "";
  let kept = 0;
  let quoted = false;
  for (let at = 0; at < raw.length; at += 1) {
    const character = raw[at]!;
    if (character === "\\") {
      at += 1;
      const escaped = raw[at];
      value += escaped === "n" ? "\n" : escaped === "t" ? "\t" : (escaped ?? "");
      kept = value.length;
    } else if (character === '"') {
      quoted = !quoted;
      kept = value.length;
    } else if (!quoted && (character === "#" || character === ";")) {
      break;
    } else {
      value += character;
      if (quoted || !/\s/.test(character)) kept = value.length;
    }
  }
  return value.slice(0, kept);
}

/**
 * `remote.origin.url`, the first one as Git fetches from it, or null. Includes and `insteadOf`
 * aren't followed.
 */
export function originUrl(config: string): string | null {
  return valueOf(config, "remote", "origin", "url");
}

/** `core.worktree`: where a repository that is kept elsewhere is checked out, or null. */
export function ownWorkTree(config: string): string | null {
  return valueOf(config, "core", undefined, "worktree");
}

/** The first that isn't empty. */
function valueOf(
  config: string,
  section: string,
  subsection: string | undefined,
  variable: string,
): string | null {
  let isIn = false;
  for (const line of config.replaceAll(/\\\r?\n/g, "").split(/\r?\n/)) {
    let rest = line.trim();
    const head = /^\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]/.exec(rest);
    if (head !== null) {
      isIn = head[1]?.toLowerCase() === section && head[2]?.replaceAll(/\\(.)/g, "$1") === subsection;
      rest = rest.slice(head[0].length).trim();
    }
    const [, name, raw] = /^([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*)$/.exec(rest) ?? [];
    if (!isIn || name?.toLowerCase() !== variable) continue;
    const value = unquote(raw ?? "");
    if (value !== "") return value;
  }
  return null;
}
