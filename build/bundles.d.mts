export const WEBVIEW_BUNDLES: readonly { name: string; entry: string; budget: number }[];
