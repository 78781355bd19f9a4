export function requireCommands(wanted: Record<string, string>): void;
