/** An origin as a person types it or copies it from an address bar, which adds a slash. */
export function typedOrigin(text: string): string {
  return text.trim().replace(/\/+$/u, "");
}
