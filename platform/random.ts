/** Randomness as the daemon sees it, so that a simulation can draw it from one seed. */
export interface Random {
  /** Fresh unpredictable bytes. */
  bytes(count: number): Uint8Array;
  /** A version 4 UUID in lowercase with dashes. */
  uuid(): string;
}
