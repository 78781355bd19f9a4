/** What ids look like (docs/protocol.md#ledger-events). */
export const ID_PATTERNS = {
  group: /^g_[0-9a-f]{12}$/,
  /** A UUID without dashes. */
  event: /^[0-9a-f]{32}$/,
  actor: /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/,
} as const;
