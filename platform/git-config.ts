/**
 * The one value that we need from a Git configuration, read by the rules of git-config(1),
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
  let inOrigin = false;
  for (const line of config.replaceAll(/\\\r?\n/g, "").split(/\r?\n/)) {
    let rest = line.trim();
    const section = /^\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]/.exec(rest);
    if (section !== null) {
      const subsection = section[2]?.replaceAll(/\\(.)/g, "$1");
      inOrigin = section[1]?.toLowerCase() === "remote" && subsection === "origin";
      rest = rest.slice(section[0].length).trim();
    }
    const variable = /^url\s*=\s*(.*)$/i.exec(rest);
    if (inOrigin && variable !== null) {
      const url = unquote(variable[1] ?? "");
      if (url !== "") return url;
    }
  }
  return null;
}
