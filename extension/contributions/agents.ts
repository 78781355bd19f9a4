/** What the manifest and the code say about the agents that a person connects. */

/** Of the provider of MCP servers for the editor's own agent. */
export const DEFINITION_PROVIDER = "svc.groups";
/** Of a change that isn't written yet. */
export const PROPOSAL_SCHEME = "svc-proposal";
/** The Actor that the editor's own agent becomes. */
export const EDITOR_ACTOR = "editor";
