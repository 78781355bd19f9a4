export const NEEDS: Record<string, object>;
export function needsOf(files: string[]): Promise<{ build: boolean; programs: Record<string, string> }>;
