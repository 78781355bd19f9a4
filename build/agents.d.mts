type AgentSet = "pinned" | "newest" | "others";
export function findAgents(set?: AgentSet): string | null;
export function installAgents(set?: AgentSet): string;
