/** Types of editor.mjs, for the tests. */
export function installEditor(): { node: string; bin: string; entry: string };
