/**
 * A separate bundle: only one command needs it, and otherwise every command's start would load it.
 */
export { WebSocket } from "ws";
