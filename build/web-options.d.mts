import type { BuildOptions } from "esbuild";

export const WEB_OPTIONS: BuildOptions;
export const WORKER_OPTIONS: BuildOptions;
export function entryPoints(bundles: readonly { name: string; entry: string }[]): { in: string; out: string }[];
