/** Types of cache.mjs, for the tests. */
export function installCached(
  name: string,
  packages: Readonly<Record<string, string>>,
  finish?: (folder: string) => void,
  options?: readonly string[],
): string;
