export const layers: readonly { folder: string; imports: readonly string[] }[];
export const fronts: readonly { folder: string; files: readonly string[] }[];
export const productFolders: readonly string[];
