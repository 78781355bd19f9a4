/** What a message to another instance is, besides text, ends and times: nothing special. */
export const PLAIN_MESSAGE = {
  format: "plain",
  insight: null,
  message_mode: "send",
  attachments: [],
  reply_to: null,
} as const;
