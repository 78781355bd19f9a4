/** The name a file goes by: pasted pictures come without one. */
export function fileName(file: File): string {
  return file.name === "" ? "pasted file" : file.name;
}
