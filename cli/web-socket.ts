/** A bundle of its own: one command of the command line needs it, and every command's start would pay for it. */
export { WebSocket } from "ws";
