/** The three ways to connect a Group, for a person who chooses one. No part of a first load. */
import type { Connection } from "./operations/connect.ts";

/** Which kind to choose, and the command of `svc` that begins it. In the order of their effort. */
export const CONNECTION_CHOICES = [
  {
    kind: "account",
    title: "Your own machines",
    sentence: "Link each to your account. Then all their Groups can write to each other.",
    command: "link",
  },
  {
    kind: "external",
    title: "Someone else’s Group, by account",
    sentence: "You both have an account on one service, and confirm on its pages.",
    command: "connect invite",
  },
  {
    kind: "direct",
    title: "Someone else’s Group, Direct",
    sentence: "Needs no account. One machine must reach the other, and you compare six words.",
    command: "direct invite",
  },
] as const satisfies readonly {
  kind: Connection["kind"];
  title: string;
  sentence: string;
  command: string;
}[];
