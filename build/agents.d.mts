export function findAgents(): string | null;
export function installAgents(): string;
