/**
 * Titles and summaries of the operations. The build inserts them (build/contracts.ts), so that no
 * command loads the schemas.
 */
interface OperationText {
  title: string;
  summary: string;
}

declare const SVC_OPERATION_TEXTS: Readonly<Record<string, OperationText>>;

/** Empty when the sources run without a bundle. */
export const OPERATION_TEXTS: Readonly<Record<string, OperationText>> =
  typeof SVC_OPERATION_TEXTS === "undefined" ? {} : SVC_OPERATION_TEXTS;
