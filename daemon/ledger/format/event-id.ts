/** Ids of events: 32 lowercase hex digits, and as four words in the index. */

export function isEventId(id: unknown): id is string {
  return typeof id === "string" && /^[0-9a-f]{32}$/.test(id);
}

/** The id's four words into `words`. */
export function wordsOfId(id: string, words: Uint32Array): void {
  for (let word = 0; word < 4; word += 1) {
    let value = 0;
    for (let at = word * 8; at < word * 8 + 8; at += 1) {
      const code = id.charCodeAt(at);
      // "0" is 48 and "a" is 97. An id contains nothing else.
      value = (value << 4) | (code < 58 ? code - 48 : code - 87);
    }
    words[word] = value;
  }
}
