export const layers: readonly { folder: string; imports: readonly string[] }[];
