/** What a slot can show (docs/presentations.md#kinds). A list without schemas, for every port. */
export const PRESENTATION_KINDS = ["markdown", "html", "image", "pdf", "csv", "url"] as const;
export type PresentationKind = (typeof PRESENTATION_KINDS)[number];
